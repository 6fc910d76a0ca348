"""Generated programs, and generated cases of each operator, in both forms of the native engine and in the reference."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghcm.runtime.operator import Form
from ghcm.spg.graph import Program
from ghcm.spg.ops import Sort, Top
from ghcm.spg.reference import run
from tests.conformance.compare import compare_rows, differences
from tests.laws.spgs import CASES, operator_case, programs
from tests.unit.runtime.operators.harness import run_unit

ENGINES = sorted({*CASES} - {"read", "generate"})
"""What runs without an engine around it: reading sinks and generating are sources of the engine."""


def check(program: Program, form: Form, size: int) -> None:
    """The unit leaves in its sinks, its reply, its dead letters and its instructions what the reference leaves."""
    unit = program.unit("u")
    expected = run(program, "u")
    found = run_unit(program, unit, form, size=size)
    letters = [(each.task, each.reason.value, each.input) for each in found.letters]
    ordered = len(unit.tasks) > 1 and isinstance(unit.tasks[-2].op, Sort | Top)
    assert differences(program, expected, sinks=found.sinks, dead=letters, ordered=ordered) == []
    if expected.reply is not None:
        element = unit.tasks[-1].collection.element
        assert compare_rows(expected.reply, found.reply or [], element, expected.magnitude) == []
    sent = [(task, each.unit, dict(each.arguments)) for task, each in found.publications]
    assert sent == [(each.task, each.unit, dict(each.arguments)) for each in expected.instructions]


@pytest.mark.parametrize("form", ["rows", "columns"])
@pytest.mark.parametrize("name", ENGINES)
@settings(deadline=None, max_examples=10, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_each_operator(name: str, form: Form, data: st.DataObject) -> None:
    check(data.draw(operator_case(name, kind="stream")), form, data.draw(st.integers(1, 6)))


@pytest.mark.parametrize("form", ["rows", "columns"])
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
@given(program=programs(kind="stream"), size=st.integers(1, 6))
def test_whole_programs(form: Form, program: Program, size: int) -> None:
    check(program, form, size)
