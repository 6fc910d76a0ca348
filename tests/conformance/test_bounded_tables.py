"""Named aggregations of input that ends: tables while they run, and final pairs that flow on, from one task."""

from __future__ import annotations

from typing import cast

import pytest

from ghcm.optimizer import optimise
from ghcm.runtime.contract import Form
from ghcm.spg.reference import run
from ghcm.spg.verify import verify
from ghcm.verification.compare import differences
from tests.conformance.text_programs import FORMS, program_of
from tests.unit.runtime.operators.harness import Given, Refusal, run_unit


def pairs_in(found: Given, sink: str) -> dict[object, object]:
    return dict(cast("tuple[object, object]", row) for row in found.sinks[sink])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("size", "restores"), [(1, True), (3, True), (100, False)])
def test_final_pairs_are_those_of_the_reference(form: Form, size: int, restores: bool) -> None:
    program = program_of("bounded_tables")
    expected = run(program, "u")
    optimised = optimise(program).program
    assert verify(optimised) == []
    for each in (program, optimised):
        found = run_unit(each, each.unit("u"), form, size=size, refusal=Refusal.ONE_SLOT, restores=restores)
        dead = {(letter.task, letter.reason.value, letter.input) for letter in found.letters}
        # A group that fails says so at each commit that finds it changed.
        assert differences(program, expected, sinks=found.sinks, dead=sorted(dead)) == []
        assert {name: dict(pairs) for name, pairs in found.tables.items()} == {
            name: dict(pairs) for name, pairs in expected.tables.items()
        }


def test_a_value_that_was_taken_back_is_not_final() -> None:
    program = program_of("bounded_tables")
    found = run_unit(program, program.unit("u"), size=1, restores=True)
    assert "z" not in pairs_in(found, "twice")  # though its first value went out with a commit
    assert pairs_in(found, "latest")["z"] == 2


def test_one_task_is_table_and_pairs() -> None:
    unit = program_of("bounded_tables").unit("u")
    assert [task.id for task in unit.tasks if task.id.startswith(("sums", "counts"))] == [
        "sums", "counts", "counts/final", "counts.to", "sums/final",
    ]  # fmt: skip
