"""Recipes of `docs/recipes/` as things to do: files to add, places to change, and a script that uses the new word.

A block is named behind its language:

    ```python new=ghcm/functions/ascii.py       a whole new file
    ```diff in=ghcm/functions/strings.py        lines of that file: " " stays, "+" is added, "-" is taken out
    ```python use                               a script, run in the changed copy; it fails where the word does not work
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "recipes"
COPIED = ("ghcm", "codegen", "optimizer", "runtime", "supervisor", "tests")
PRODUCT = ("ghcm/", "codegen/", "optimizer/", "runtime/", "supervisor/")

_BLOCK = re.compile(r"^```(\w+) (new|in|use)(?:=(\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Edit:
    """One block: a new file, or lines of an old one, by the path of the file from the root."""

    path: str
    text: str
    whole: bool

    def apply(self, root: Path) -> None:
        """Carry it out in that tree; ValueError where the lines do not stand in the file just once."""
        target = root / self.path
        if self.whole:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self.text, encoding="utf-8")
            return
        lines = [(line[:1] or " ", line[1:]) for line in self.text.splitlines()]
        before = "".join(f"{line}\n" for sign, line in lines if sign in " -")
        after = "".join(f"{line}\n" for sign, line in lines if sign in " +")
        found = target.read_text(encoding="utf-8")
        if f"\n{found}".count(f"\n{before}") != 1:
            raise ValueError(f"{self.path} does not hold these lines just once:\n{before}")
        target.write_text(f"\n{found}".replace(f"\n{before}", f"\n{after}")[1:], encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Recipe:
    """A page: its edits in order, and the script that uses what they add."""

    name: str
    edits: tuple[Edit, ...]
    use: str

    def product_files(self) -> set[str]:
        """The files of the product that it adds or changes."""
        return {edit.path for edit in self.edits if edit.path.startswith(PRODUCT)}

    def carry_out(self, root: Path) -> subprocess.CompletedProcess[str]:
        """Change that copy of the tree and run the script in it."""
        for edit in self.edits:
            edit.apply(root)
        script = root / "use_it.py"
        script.write_text(self.use, encoding="utf-8")
        environment = os.environ | {"PYTHONPATH": str(root)}
        return subprocess.run(
            [sys.executable, script.name], cwd=root, env=environment, capture_output=True, text=True, check=False
        )


def read(name: str) -> Recipe:
    """The recipe of that page."""
    edits: list[Edit] = []
    scripts: list[str] = []
    for _, kind, path, text in _BLOCK.findall((PAGES / f"{name}.md").read_text(encoding="utf-8")):
        if kind == "use":
            scripts.append(text)
        else:
            edits.append(Edit(path, text, whole=kind == "new"))
    (use,) = scripts
    return Recipe(name, tuple(edits), use)


def copy_tree(to: Path) -> Path:
    """A copy of what the product and its tests consist of, with the links between them."""
    for folder in COPIED:
        shutil.copytree(ROOT / folder, to / folder, symlinks=True)
    return to
