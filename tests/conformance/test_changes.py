"""The changes of tables: the reference gives final values, an engine gives some of the values before, in order."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import cast

import pytest

from ghcm.optimizer import optimise
from ghcm.runtime.contract import Form
from ghcm.spg.graph import Program
from ghcm.spg.reference import run
from ghcm.types import Struct
from ghcm.verification.compare import compare_rows, same_value
from tests.conformance.text_programs import FORMS, program_of
from tests.unit.runtime.operators.harness import Given, Refusal, run_unit

NUMBERS = [
    ("a", 1), ("a", 2), ("b", 0), (None, 3), ("a", 0), ("b", 0), (None, -3), ("c", 9), ("a", -2), ("b", 5), (None, 3),
    ("ü", 1), ("c", 0),
]  # fmt: skip
TABLES = ("totals", "greatest", "lists", "several")


def pairs_of(found: Given, sink: str) -> list[tuple[object, object]]:
    return [cast("tuple[object, object]", row) for row in found.sinks[sink]]


def values_of(pairs: Iterable[tuple[object, object]]) -> dict[object, list[object]]:
    by_key: dict[object, list[object]] = {}
    for key, value in pairs:
        by_key.setdefault(key, []).append(value)
    return by_key


def without_repeats(values: Iterable[object]) -> list[object]:
    kept: list[object] = []
    for value in values:
        if not kept or kept[-1] != value:
            kept.append(value)
    return kept


def sums_so_far() -> dict[object, list[object]]:
    return {key: without_repeats(accumulate(cast("list[int]", numbers))) for key, numbers in values_of(NUMBERS).items()}


def is_part(values: list[object], of: list[object]) -> bool:
    left = iter(of)
    return all(value in left for value in values)


def every_way(program: Program, size: int, *, restores: bool, form: Form) -> list[Given]:
    return [
        run_unit(each, each.unit("u"), form, size=size, refusal=Refusal.ONE_SLOT, restores=restores)
        for each in (program, optimise(program).program)
    ]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("size", "restores"), [(1, True), (3, True), (4, False), (100, True)])
def test_changes_end_at_the_values_of_the_reference(form: Form, size: int, restores: bool) -> None:
    program = program_of("changes")
    expected = run(program, "u")
    for found in every_way(program, size, restores=restores, form=form):
        assert found.letters == [] and expected.dead == []
        for sink in TABLES:
            element = cast("Struct", program.sink(sink).element)
            last = dict(pairs_of(found, sink))
            assert compare_rows(expected.sinks[sink], list(last.items()), element) == []
            for values in values_of(pairs_of(found, sink)).values():
                assert not any(same_value(one, two, element.fields[1].type) for one, two in pairwise(values))
        for key, values in values_of(pairs_of(found, "totals")).items():
            assert is_part(values, sums_so_far()[key])
        large = [pair for pair in pairs_of(found, "totals") if cast("int", pair[1]) > 1]
        assert found.sinks["large"] == large


def test_a_commit_after_each_record_gives_every_value() -> None:
    program = program_of("changes")
    for found in every_way(program, 1, restores=True, form="auto"):
        assert values_of(pairs_of(found, "totals")) == sums_so_far()


def test_the_reference_gives_each_pair_once() -> None:
    expected = run(program_of("changes"), "u")
    assert {name: len(rows) for name, rows in expected.sinks.items()} == {
        "totals": 5,
        "greatest": 5,
        "lists": 5,
        "several": 5,
        "large": 3,
    }
