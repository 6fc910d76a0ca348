"""The manual finds what programs write: names, symbols, and several things of one name."""

from ghcm.functions import FUNCTIONS
from ghcm.manual import Kind, entries, find, unknown
from ghcm.operators import OPERATORS


def kinds(name: str, first: Kind) -> list[Kind]:
    return [entry.kind for entry in find(name, first)]


def test_every_row_has_an_entry() -> None:
    found = {(entry.kind, entry.name) for entry in entries()}
    assert {(Kind.OPERATOR, name) for name in OPERATORS} <= found
    assert {(Kind.FUNCTION, name) for name in FUNCTIONS} <= found


def test_what_is_asked_for_comes_first() -> None:
    assert kinds("join", Kind.OPERATOR) == [Kind.OPERATOR, Kind.FUNCTION]
    assert kinds("join", Kind.FUNCTION) == [Kind.FUNCTION, Kind.OPERATOR]
    assert kinds("min", Kind.FUNCTION) == [Kind.FUNCTION, Kind.FUNCTION, Kind.AGGREGATE]


def test_symbols_and_other_spellings_are_found() -> None:
    assert [entry.name for entry in find("+")] == ["add"]
    assert [entry.name for entry in find("is null")] == ["is_null"]
    assert [entry.name for entry in find("map_of")] == ["from_entries"]


def test_a_misspelt_name_is_guessed() -> None:
    assert find("fliter") == ()
    assert unknown("fliter") == 'did you mean "filter"?'


def test_every_entry_with_an_example_says_what_it_gives() -> None:
    shown = [(entry.name, each) for entry in entries() for each in entry.examples]
    assert [name for name, each in shown if not each.text or not each.gives] == []
