"""Every operator in both forms gives what the reference gives, whatever the outbox refuses and however often it is
restored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.operators import OPERATORS
from ghcm.runtime.contract import Form
from ghcm.source import Source as Text
from ghcm.spg.graph import Program
from ghcm.spg.ops import (
    ArrivalTime,
    Forgetting,
    Fused,
    Lookup,
    Op,
    PythonAsync,
    PythonBatch,
    PythonCall,
    ReadSink,
    ReadTable,
    Reply,
    Revisions,
    Sessions,
    Sort,
    Source,
    To,
    Top,
    Versions,
)
from ghcm.spg.reference import Result, run
from ghcm.spg.sequences import Absent, Chunks, Preceding, Present, Process, Scan
from ghcm.support import Yes
from ghcm.verification.compare import compare_calls, differences, letters
from tests.campaigns import times
from tests.unit.runtime.operators.harness import Given, Refusal, run_unit
from tests.unit.runtime.operators.small_units import UNITS

PLAIN = """program plain

record R { a: int, b: string }

sink kept   = parquet("kept", mode = append)
sink made   = parquet("made", mode = append)
sink items  = parquet("items", mode = append)
sink structs = parquet("structs", mode = append)
sink values = parquet("values", mode = append)
sink keyed  = parquet("keyed", mode = append)

stream u {
  rows = memory([R { a: 1, b: "x" }, R { a: 2, b: "y" }])
  rows.filter(r => r.a > 1).to(kept)
  rows.map(r => r.a + 1).to(made)
  rows.flat_map(r => [r.a, 0]).to(items)
  rows.flat_map(r => [{ n: r.a, s: r.b }, { n: 0, s: "c" }]).to(structs)
  rows.map_to_pair(r => (r.b, r.a)).map_values(n => n * 2).to(values)
  rows.key_by(r => r.b).to(keyed)
}
"""
"""Row operations in which nothing fails, so that none falls back to rows: what is drawn seldom has them all."""

WAYS = [(refusal, restores) for refusal in Refusal for restores in (False, True)]


def check(program: Program, form: Form, refusal: Refusal, restores: bool, size: int) -> Given:
    """The unit run natively leaves what the reference leaves."""
    expected = run(program, "u")
    found = run_unit(program, program.unit("u"), form, size=size, refusal=refusal, restores=restores)
    compare(program, found, expected)
    return found


def compare(program: Program, found: Given, expected: Result) -> None:
    ordered = any(isinstance(task.op, Sort | Top) for task in program.unit("u").tasks)
    assert differences(program, expected, sinks=found.sinks, dead=letters(found.letters), ordered=ordered) == []
    assert compare_calls(program, expected.instructions, found.publications) == []


@pytest.mark.parametrize("form", ["rows", "columns"])
@pytest.mark.parametrize("name", sorted(UNITS))
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=times(15))
@given(data=st.data())
def test_operator(name: str, form: Form, data: st.DataObject) -> None:
    program = data.draw(UNITS[name]())
    refusal, restores = data.draw(st.sampled_from(WAYS))
    found = check(program, form, refusal, restores, data.draw(st.integers(1, 6)))
    if form == "rows":
        assert all(counts["columns"] == 0 for task, counts in found.counts.items() if not task.startswith("union"))


@pytest.mark.parametrize("name", ["aggregate_by_key", "count", "reduce_by_key", "rows", "windows_of_windows"])
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=times(20))
@given(data=st.data())
def test_forms_may_change_from_batch_to_batch_and_groups_are_merged_early(name: str, data: st.DataObject) -> None:
    program = data.draw(UNITS[name]())
    refusal, restores = data.draw(st.sampled_from(WAYS))
    columnar_from, unmerged = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 4))
    found = run_unit(
        program,
        program.unit("u"),
        "auto",
        size=data.draw(st.integers(1, 6)),
        refusal=refusal,
        restores=restores,
        columnar_from=columnar_from,
        unmerged=unmerged,
    )
    compare(program, found, run(program, "u"))


def ops_of(program: Program) -> Iterator[tuple[str, type[object]]]:
    """The ops of a program and of its chains, with the ids of their tasks."""
    for task in program.unit("u").tasks:
        yield task.id, type(task.op)
        if isinstance(task.op, Fused):
            yield from ((task.id, type(stage.op)) for stage in task.op.stages)


def word(kind: type[object]) -> str:
    """The operator's name in the language."""
    return "python" if kind in (PythonCall, PythonBatch) else re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def test_every_op_goes_through_the_harness_and_runs_in_the_forms_that_the_table_says() -> None:
    seen: set[type[object]] = set()
    columns: set[type[object]] = set()

    def gather(program: Program) -> None:
        seen.update(kind for _, kind in ops_of(program))
        counts = run_unit(program, program.unit("u"), "columns", size=8).counts
        done = {task.id for task in program.unit("u").tasks if counts.get(task.id, {}).get("columns")}
        columns.update(kind for id, kind in ops_of(program) if id in done)

    gather(lower(parse(Text("plain.istream", PLAIN))))
    for make in UNITS.values():

        @settings(
            deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck), max_examples=60
        )
        @given(make())
        def drawn(program: Program) -> None:
            gather(program)

        drawn()
    missing = set(get_args(Op)) - seen
    by_clock = {ArrivalTime}  # tests/conformance/test_processing_time.py
    asks = {Lookup, PythonAsync}  # slot/test_services_asked.py, tests/conformance/test_python_batches.py
    endless = {Revisions, Forgetting, Versions}  # tests/conformance/test_changing_tables.py, test_joins.py
    others = {ReadSink, ReadTable, Reply, Sessions, Preceding, Absent, Present, Scan, Process, Chunks}
    assert missing <= others | by_clock | asks | endless, "the engine's, like sources and sinks"
    assert PythonBatch in columns, "of which the table says what its kind by row does"
    for kind in seen - {Source, To, Fused, PythonBatch}:
        assert (kind in columns) == isinstance(OPERATORS[word(kind)].columnar, Yes), kind
