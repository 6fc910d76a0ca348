"""What messages advise doubles no rows without saying so."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("codegen", "ghcm", "optimizer", "runtime", "supervisor")


def texts(tree: ast.AST) -> Iterator[str]:
    """The texts of a module as they are printed, with `FRESH` for what that name stands for; without docstrings."""
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr(values=values):
                yield "".join(
                    str(part.value) if isinstance(part, ast.Constant) else ast.unparse(part) for part in values
                )
            case ast.Constant(value=str(text)) if "\n" not in text:
                yield text
            case _:
                pass


def unwise(text: str) -> bool:
    fresh = re.search(r"--fresh [a-z{]|--fresh\.", text) and "append" not in text and "{FRESH}" not in text
    return bool(fresh) or "then run again" in text


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("free some room, then run again.", True),
        ("begin anew with --fresh.", True),
        ("--fresh reads everything again", True),
        ("--fresh reads everything again, and appends it", False),
        ("say --resume or --fresh.", True),
        ("free some room; --resume goes on", False),
    ],
)
def test_what_is_unwise(text: str, wrong: bool) -> None:
    assert unwise(text) is wrong


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_message_advises_what_doubles_rows_without_saying_so(folder: str) -> None:
    files = [path for path in (ROOT / folder).rglob("*.py") if not any(part.is_symlink() for part in path.parents)]
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in files
        for text in texts(ast.parse(path.read_text(encoding="utf-8")))
        if unwise(text)
    ]
    assert files and found == []
