"""What the README says that works is what the tables say."""

import re
from pathlib import Path

from ghcm.aggregates import AGGREGATES
from ghcm.functions import FAMILIES
from ghcm.operators import OPERATORS
from ghcm.support import NotYet

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def words_of(title: str) -> set[str]:
    section = README.split(f"## {title}\n")[1].split("\n## ")[0]
    return {word.lower() for word in re.findall(r"\w+", section)}


def test_every_operator_and_aggregate_stands_where_it_belongs() -> None:
    works, waits = words_of("What works today"), words_of("What does not yet")
    waiting = {name for name, operator in OPERATORS.items() if isinstance(operator.reference, NotYet)}
    assert OPERATORS.keys() - waiting - works == set(), "name them under what works"
    assert waiting - waits == set(), "name them under what does not yet"
    assert {each.value for each in AGGREGATES} - works == set()


def test_numbers_of_functions_are_current() -> None:
    assert f"strings ({len(FAMILIES['strings'])})" in README
