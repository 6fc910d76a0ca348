"""Types as text."""

import pytest

from ghcm.spg.notation.types import parse_type, print_type


@pytest.mark.parametrize(
    "text",
    [
        "int",
        "string?",
        "list<int?>?",
        "map<string, float>",
        "decimal(10, 2)",
        "(int, string)",
        "(int,)",
        "{}",
        "{key: string, value: (int, int)}",
        'Flow{ts: timestamp from "time", "odd name": int?, from: null}',
        '"odd record"{x: list<list<Inner{y: date}>>}',
    ],
)
def test_what_is_printed_is_read_back(text: str) -> None:
    assert print_type(parse_type(text)) == text


@pytest.mark.parametrize("text", ["", "integer", "list<int", "int int", "{a}", "(int", "map<int>"])
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_type(text)
