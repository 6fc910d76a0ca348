"""The recipes for new words: each is carried out on a copy of the tree, in as few files as it promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recipes.recipe import PAGES, copy_tree, read

MOST_FILES = {"function": 2, "operator": 8, "sink": 6, "rule": 1, "pass": 2, "engine": 2}
"""Files of the product that a new word of each kind touches; a new engine is its folder and one line elsewhere."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(page.stem for page in PAGES.glob("*.md")))
def test_a_recipe(name: str, tmp_path: Path) -> None:
    recipe = read(name)
    touched = recipe.product_files()
    if name == "engine":
        touched = {str(Path(path).parent) if path.count("/") > 1 else path for path in touched}
    assert len(touched) <= MOST_FILES[name], sorted(touched)
    done = recipe.carry_out(copy_tree(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
