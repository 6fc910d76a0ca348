"""Long lines of generated Python are broken without changing what they mean."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ghcm.codegen.formatting import format_python
from tests.conftest import ROOT

MODULES = sorted((ROOT / "tests" / "golden" / "native").glob("*.py.txt"))


def test_arguments_go_one_to_a_line_with_a_comma_behind_the_last() -> None:
    line = "frame = frame.select(first_column, second_column, third_column)"
    assert format_python(line, 40) == (
        "frame = frame.select(\n    first_column,\n    second_column,\n    third_column,\n)"
    )


def test_conditions_are_broken_before_their_loosest_operators() -> None:
    assert format_python("value = None if left is None or right is None else left + right", 40) == (
        "value = (\n    None\n    if left is None or right is None\n    else left + right\n)"
    )


def test_what_stands_before_a_long_call_is_not_broken_by_itself() -> None:
    line = 'key = first(1, 2, "Europe/Berlin") if False else second(' + ", ".join(["123456789"] * 8) + ")"
    broken = format_python(line, 48)
    assert ast.dump(ast.parse(broken)) == ast.dump(ast.parse(line))
    assert max(map(len, broken.split("\n"))) <= 48


def test_text_and_comments_stay_whole() -> None:
    line = "# " + "a, b (c), " * 20 + "d"
    assert format_python(line, 40) == line
    assert '"one, (two), three, four, five"' in format_python('call("one, (two), three, four, five", [1, 2, 3])', 30)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
@settings(deadline=None, max_examples=20)
@given(width=st.integers(30, 130))
def test_no_width_changes_the_meaning(path: Path, width: int) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.dump(ast.parse(format_python(text, width))) == ast.dump(ast.parse(text))
