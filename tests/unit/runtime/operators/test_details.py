"""What the reference does not say: details of dead letters, clocks of policies, sums of floats, state that cannot run
code.
"""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghcm.functions import Failure
from ghcm.runtime.contract import Context, Timer
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.native import aggregates, python
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operators import build
from ghcm.runtime.state.packing import pack, unpack
from ghcm.spg.ops import CallTemplate, Policy, Publish
from ghcm.types import Collection, Field, Int, Shape, Struct
from tests.unit.runtime.operators.building import Builder
from tests.unit.runtime.operators.harness import Box, Refusal, module_of

EVENT = Struct((Field("n", Int()),))


def raising(_: object) -> object:
    raise ValueError("x" * 5000)


def test_the_detail_of_a_users_exception_is_its_type_and_text_and_not_endless() -> None:
    call = python.call("int", "int")
    with pytest.raises(RecordFailure) as found:
        call(raising, 1)
    assert found.value.reason is Failure.PYTHON
    assert found.value.detail == ("ValueError: " + "x" * 5000)[:2000]


def test_a_wrong_result_says_where_and_what() -> None:
    call = python.call("int", "Flow{name: string, sizes: list<int>}")
    with pytest.raises(RecordFailure) as found:
        call(lambda _: ("a", [1, "two"]), 1)
    assert found.value.reason is Failure.WRONG_RESULT
    assert found.value.detail == "sizes: expected int, found str 'two'"


def test_a_policy_by_the_clock_is_due_after_its_first_record() -> None:
    now = 1_000
    builder = Builder()
    source = builder.memory(EVENT, ())
    op = Publish(CallTemplate("called", ()), Policy(every_us=500, at_end=True), None)
    builder.add(op, Collection(Shape.STREAM, EVENT, True), source, id="publish")
    program = builder.program()
    unit = program.unit("u")
    tasks = module_of(program, unit).TASKS
    publish, box = build(unit.task("publish"), unit, tasks["publish"], Context(now=lambda: now)), Box(Refusal.NEVER)
    assert isinstance(publish, Timer)
    assert publish.due() is None
    box.all(partial(publish.process, 0, Batch.from_rows(EVENT, [(1,), (2,)])))
    assert publish.due() == 1_500
    box.all(publish.flush)
    assert box.publications == []
    now = 1_500
    box.all(publish.flush)
    assert [each.sequence for each in box.publications] == [0]
    assert publish.due() is None
    box.all(partial(publish.process, 0, Batch.from_rows(EVENT, [(3,)])))
    box.all(publish.finish)
    assert [each.sequence for each in box.publications] == [0, 1]


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.one_of(FINITE, st.sampled_from([1e308, -1e308, 5e-324, 0.1])), min_size=1, max_size=30), st.data())
def test_sums_of_floats_are_exact_in_any_order(values: list[float], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(values)))
    left = right = None
    for value in values[:cut]:
        left = aggregates.add_float(left, value)
    for value in data.draw(st.permutations(values[cut:])):
        right = aggregates.add_float(right, value)
    exact = sum(map(Fraction, values))
    try:
        expected = float(exact)
    except OverflowError:
        expected = math.inf if exact > 0 else -math.inf
    assert aggregates.total(aggregates.merge_float(left, right)) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [((1.0, math.inf), math.inf), ((-math.inf, 1e308), -math.inf), ((math.inf, -math.inf), math.nan)],
)
def test_infinities_add_as_floats_do(values: tuple[float, ...], expected: float) -> None:
    state = None
    for value in values:
        state = aggregates.add_float(state, value)
    found = aggregates.total(state)
    assert found == expected or (found is not None and math.isnan(found) and math.isnan(expected))


def test_a_state_that_could_run_code_is_refused() -> None:
    assert unpack(pack([(1, "a", None, 1.5, b"x", {"k": (1,)})])) == [(1, "a", None, 1.5, b"x", {"k": (1,)})]
    with pytest.raises(pickle.UnpicklingError):
        unpack(pickle.dumps(print))
