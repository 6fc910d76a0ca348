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


@pytest.mark.parametrize(
    ("added", "found"),
    [
        ("s + ([1, 2].map(x => x + v).sum() ?? 0)", []),
        ("s + ([1, 2].map(y => (let x = y in x + v)).sum() ?? 0)", []),
        ("s + (let x = v in x)", []),
        ("s + ([1, 2].map(y => x + v).sum() ?? 0)", ["GHCM-224"]),
        ("s + (let x = x in v)", ["GHCM-224"]),
    ],
)
def test_only_parameters_of_the_function_itself_are_other_ones_in_each_record(added: str, found: list[str]) -> None:
    function = f"function odd(x: int) : int = fold(x, 0, (s, v) => {added}, merge = (a, b) => a + b)"
    unit = 'batch job { files("a.json").as(Row).aggregate(n = odd(id)).to(rows) }'
    assert codes(f"{function}\n{unit}") == found
