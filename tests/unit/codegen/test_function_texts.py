"""The texts of the table of functions: each can be filled in, and parentheses stand only where operands need them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pytest

from ghcm.codegen.native.columns.functions import COLUMN_FUNCTIONS
from ghcm.codegen.native.columns.functions import written as written_column
from ghcm.codegen.native.rows.functions import HANDLED, ROW_FUNCTIONS
from ghcm.codegen.native.rows.functions import written as written_row
from ghcm.codegen.native.rows.text import Code
from ghcm.codegen.native.snippets import PRODUCT, SUM, Slot, snippet
from ghcm.functions import FUNCTIONS
from ghcm.functions.table import Text


def texts(text: Text | None) -> Iterator[str]:
    """All texts of a row that an engine may choose from."""
    for each in text.values() if isinstance(text, Mapping) else (text,):
        if isinstance(each, str) and each:
            yield each


PYTHON = [pytest.param(each, id=f"{name}: {each}") for name, row in FUNCTIONS.items() for each in texts(row.python)]
POLARS = [
    pytest.param(each, id=f"{name}: {each}")
    for name, row in FUNCTIONS.items()
    for text in (row.polars, row.polars_fails)
    for each in texts(text)
]


@pytest.mark.parametrize("text", PYTHON)
def test_python_evaluates_arguments_once_and_in_their_order(text: str) -> None:
    slots = [part for part in snippet(text).parts if isinstance(part, Slot)]
    values = [slot.index for slot in slots if slot.index >= 0 and not slot.of and slot.way != "zone"]
    assert values == sorted(set(values))


@pytest.mark.parametrize("text", POLARS)
def test_polars_can_be_filled_in(text: str) -> None:
    filled = snippet(text).filled(lambda slot: "" if slot.way == "zone" else "x")
    compile(filled, text, "eval")


def test_a_function_has_a_text_or_an_emitter() -> None:
    for name, row in FUNCTIONS.items():
        assert (name in HANDLED) or (ROW_FUNCTIONS[name] is written_row) == (row.python is not None), name
    kept = {name for name, emit in COLUMN_FUNCTIONS.items() if emit is not written_column}
    assert not any(isinstance(FUNCTIONS[name].polars, str) for name in kept)


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{0}.hex()", "(a + b).hex()"),
        ("len({0})", "len(a + b)"),
        ("{0} // 1000", "(a + b) // 1000"),
        ("{0} + 1", "a + b + 1"),
        ("-{0}", "-(a + b)"),
        ("{0} is not None", "a + b is not None"),
    ],
)
def test_parentheses_stand_where_operands_need_them(text: str, filled: str) -> None:
    operand = Code("a + b", SUM)
    assert snippet(text).filled(lambda slot: operand.at(slot.level)) == filled
    assert re.fullmatch(r".*//.*", text) is None or snippet(text).level == PRODUCT
