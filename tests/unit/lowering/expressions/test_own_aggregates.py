"""Aggregates of a user's own: which functions are aggregates, and what is reported of them."""

import pytest

from tests.unit.lowering.lowered import codes


@pytest.mark.parametrize("body", ["min(a, b)", "max(a, b)", "min(max(a, 1), b)"])
def test_a_function_of_two_values_is_no_aggregate(body: str) -> None:
    function = f"function one(a: int, b: int) : int = {body}"
    unit = 'batch job { files("a.json").as(Row).map(r => { n: one(r.id, 2) }).to(rows) }'
    assert codes(f"{function}\n{unit}") == []


def test_a_function_of_one_value_is_an_aggregate() -> None:
    function = "function least(a: int) : int = min(a)\nfunction further(a: int) : int = least(a)"
    unit = 'batch job { files("a.json").as(Row).aggregate(n = further(id)).to(rows) }'
    assert codes(f"{function}\n{unit}") == []
