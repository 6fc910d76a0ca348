"""docs/asvs.md: each requirement of the standard has its line, and each line a test that there is, or says why not."""

import ast
import re
from collections import Counter
from functools import cache

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "asvs.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in PAGE.splitlines() if line.startswith("| ")
]
LINES = [row for row in ROWS if re.match(r"\d", row[0])]

_OF_THE_STANDARD = """
1.1 2   1.2 9   1.3 11  1.4 3   1.5 2   2.1 3   2.2 3   2.3 4   2.4 1   3.2 2   3.3 4   3.4 6   3.5 5   3.7 2
4.1 3   4.2 1   4.3 2   4.4 4   5.1 1   5.2 3   5.3 2   5.4 3   6.1 3   6.2 12  6.3 4   6.4 4   6.5 5   6.6 3   6.8 4
7.1 3   7.2 4   7.3 2   7.4 5   7.5 2   7.6 2   8.1 2   8.2 3   8.3 1   8.4 1   9.1 3   9.2 4
10.1 2  10.2 2  10.3 4  10.4 11 10.5 5  10.6 2  10.7 3  11.1 2  11.2 3  11.3 3  11.4 4  11.5 1  11.6 1
12.1 3  12.2 2  12.3 4  13.1 1  13.2 5  13.3 2  13.4 5  14.1 2  14.2 4  14.3 3  15.1 3  15.2 3  15.3 7
16.1 1  16.2 5  16.3 4  16.4 3  16.5 3  17.1 1  17.2 4  17.3 2
"""
LAST = {name: int(last) for name, last in re.findall(r"(\S+) +(\d+)", _OF_THE_STANDARD)}
"""The last requirement of the levels 1 and 2 of each section of the standard, version 5.0.0."""


def numbers(text: str) -> list[str]:
    """The requirements of the first cell of a line: with commas, `to` before the last of many, or by their section or
    chapter.
    """
    found = list[str]()
    for each in text.split(", "):
        first, _, last = each.partition(" to ")
        section, _, begin = first.rpartition(".")
        if first.count(".") == 2:
            found += [f"{section}.{number}" for number in range(int(begin), int(last.rpartition(".")[2] or begin) + 1)]
        else:
            found += [number for number in ALL if number.startswith(f"{first}.")]
    return found


ALL = [f"{section}.{number}" for section, last in LAST.items() for number in range(1, last + 1)]


def test_each_requirement_of_level_two_has_one_line() -> None:
    named = Counter(number for row in LINES for number in numbers(row[0]))
    assert sorted({*ALL} - {*named}) == []
    assert [number for number, count in named.items() if count > 1] == []


def test_a_line_has_a_test_or_says_why_there_is_none() -> None:
    why = ("*not met*", "*yours*", "](")  # or which page says what the documentation has to say
    assert [row[0] for row in LINES if len(row) == 3 and not row[2] and not any(each in row[1] for each in why)] == []


def test_every_test_that_is_named_is_there() -> None:
    named = set(re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", PAGE))
    assert len(named) > 50
    missing = [f"{file}::{test}" for file, test in named if not test or test not in functions(file)]
    assert missing == []


@cache
def functions(file: str) -> frozenset[str]:
    """The functions of a file below `tests/`; none where it is missing."""
    path = ROOT / "tests" / file
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
