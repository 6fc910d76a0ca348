"""Generated programs, optimised and not, in both native forms, against the reference."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghcm.optimizer import optimise
from ghcm.runtime.contract import Form
from ghcm.runtime.data.batch import Batch
from ghcm.spg.graph import Program, Unit
from ghcm.spg.ops import ReadSink, Sort, Top
from ghcm.spg.reference import Result, run
from ghcm.types import Struct
from ghcm.verification.compare import compare_calls, compare_rows, differences, letters
from tests.campaigns import times
from tests.laws.spg_values import rows_of
from tests.laws.spgs import CASES, operator_case, programs
from tests.unit.runtime.operators.harness import Given, run_unit

FORMS: tuple[Form, ...] = ("rows", "columns")
LOOSE = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=times(20))


def check(program: Program, sinks: dict[str, Sequence[object]] | None = None) -> list[Given]:
    """All ways leave what the reference leaves."""
    expected = run(program, "u", sinks=sinks)
    found: list[Given] = []
    for each in (program, optimise(program).program):
        unit = each.unit("u")
        inputs = {
            task.id: _batches(task.schema, (sinks or {}).get(task.op.sink, ()))
            for task in unit.tasks
            if isinstance(task.op, ReadSink)
        }
        for form in FORMS:
            found.append(run_unit(each, unit, form, size=4, inputs=inputs))
            compare(program, unit, found[-1], expected)
    return found


def _batches(schema: Struct, rows: Sequence[object]) -> list[Batch]:
    return [Batch.from_rows(schema, [row if isinstance(row, tuple) else (row,)]) for row in rows]


def compare(program: Program, unit: Unit, found: Given, expected: Result) -> None:
    last = [task.op for task in unit.tasks][-2:]
    ordered = any(isinstance(op, Sort | Top) for op in last)
    assert differences(program, expected, sinks=found.sinks, dead=letters(found.letters), ordered=ordered) == []
    replied = unit.tasks[-1].collection.element
    assert compare_rows(expected.reply or [], found.reply or [], replied, expected.magnitude) == []
    assert compare_calls(program, expected.instructions, found.publications) == []


@pytest.mark.parametrize("name", CASES)
@LOOSE
@given(data=st.data())
def test_operator(name: str, data: st.DataObject) -> None:
    program = data.draw(operator_case(name, data.draw(st.sampled_from(["stream", "batch"]))))
    reads = [task.op.sink for task in program.unit("u").tasks if isinstance(task.op, ReadSink)]
    check(program, {name: data.draw(rows_of(program.sink(name).element)) for name in reads})


@LOOSE
@given(program=programs())
def test_program(program: Program) -> None:
    check(program)
