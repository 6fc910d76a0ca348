"""The native engine as the compiler sees it: what it cannot do, and the module of a unit, which is put together here:
a section per task, the constants they share, and the table `TASKS`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

from ghcm.codegen.backend import Artifact
from ghcm.codegen.formatting import format_python
from ghcm.codegen.native.chains import chain_of, operator_name, panes_of
from ghcm.codegen.native.columns.chains import column_chain
from ghcm.codegen.native.columns.expressions import columnar
from ghcm.codegen.native.groups import grouping
from ghcm.codegen.native.joins import joining
from ghcm.codegen.native.names import RESERVED, Names, imports_of
from ghcm.codegen.native.rows.chains import row_chain
from ghcm.codegen.native.rows.text import tuple_text
from ghcm.codegen.native.sections import Module, Place, Section, entry
from ghcm.codegen.native.snippets import quoted
from ghcm.codegen.native.tasks import iterating, publishing, reading, scanning, sorting, writing
from ghcm.codegen.templating import render
from ghcm.spg import ops, sequences
from ghcm.spg.graph import Program, Task, Unit, step_unit
from ghcm.spg.stages import event_time_of
from ghcm.support import YES, Never, Support


@dataclass(frozen=True, slots=True)
class Native:
    """Runs units in the engine's own process, each as one Python module."""

    name: str = "native"
    requirements: tuple[str, ...] = ()

    @property
    def shared(self) -> Mapping[str, bytes]:
        """Nothing: its modules import the runtime."""
        return {}

    def supports(self, program: Program, unit: Unit, task: Task) -> Support:
        """The checker says the same to users; this is for graphs that it has not seen."""
        if unit.kind == "batch" and isinstance(task.op, ops.Source) and not task.op.connector.ends:
            return Never(f'"{task.id}" never ends: no batch unit can read it', code="GHCM-521")
        return YES

    def emit(self, program: Program, unit: Unit) -> Artifact:
        """The module, with a row form and a columnar form of every task."""
        return Artifact(generate(program, unit))


NATIVE = Native()


def generate(program: Program, unit: Unit) -> str:
    """The text of the module `native/<unit>.py` of a bundle; the same for the same graph."""
    module = Module(Names(RESERVED))
    sections = _sections(program, unit, module, Names())
    body = "\n".join(
        [*module.constants.values(), *(text for each in sections for text in (*each.functions, each.entry))]
    )
    text = render(
        "native_module.py.j2",
        program=program.name,
        unit=unit,
        sections=sections,
        constants=module.constants,
        rule=_rule,
        imports=imports_of(body),
    )
    return format_python(text)


def _rule(task: Task) -> str:
    return f"# --- {task.id}: {operator_name(task.op)}  ({task.origin}) ".ljust(119, "-")


def _sections(program: Program, unit: Unit, module: Module, names: Names) -> list[Section]:
    """The tasks of a unit that have code; those of a step have theirs in the entry of the iteration."""
    sections: list[Section] = []
    for task in unit.tasks:
        at = Place(task, unit, names.new(task.id), module)
        if isinstance(task.op, ops.Iterate):
            steps = _sections(program, step_unit(unit, task, task.op), module, names)
            sections.append(iterating(at, task.op, steps))
        elif section := _section(program, at):
            sections.append(section)
    return sections


def _section(program: Program, at: Place) -> Section | None:
    op = at.task.op
    if isinstance(op, ops.ChainOp | ops.Fused):
        return _chained(at)
    match op:
        case ops.Forgetting(group=group) | ops.Versions(group=group):
            return grouping(at, group)
        case ops.ReduceByKey() | ops.AggregateByKey() | ops.GroupByKey() | ops.Count():
            return grouping(at, op)
        case ops.Sort() | ops.Top():
            return sorting(at, op)
        case ops.Join():
            return joining(at, op)
        case ops.To(sink=sink):
            return writing(at, program.sink(sink))
        case ops.Publish():
            return publishing(at, op)
        case ops.ReadTable(key=key) if key is not None:
            return reading(at, key)
        case (
            ops.Source()
            | ops.ArrivalTime()
            | ops.Sessions()
            | ops.PythonBatch()
            | ops.PythonAsync()
            | ops.Lookup()
            | ops.Union()
        ):
            return None
        case sequences.Scan():
            return scanning(at, op)
        case sequences.Preceding() | sequences.Absent() | sequences.Present():
            return None
        case sequences.Process() | sequences.Chunks():
            return None
        case ops.Latest() | ops.Revisions():
            return None
        case ops.Changes() | ops.Distinct() | ops.Iterate() | ops.ReadSink() | ops.ReadTable() | ops.Reply():
            return None
        case _:
            assert_never(op)


def _chained(at: Place) -> Section:
    chain = chain_of(at.task, at.unit, panes_of(at.unit).get(at.task.id))
    assert chain is not None
    rows, functions = row_chain(chain, at.name, at.module)
    made, missing = columnar(lambda: [column_chain(chain, at.name)])
    named = tuple_text([quoted(each) for each in functions]) if functions else None
    columns = f"{at.name}_columns" if made else None
    kind = "RowCode" if event_time_of(at.task.op) is None else "TimeCode"
    code = entry(kind, rows=f"{at.name}_rows", columns=columns, functions=named)
    return Section(at.task, [rows, *made], code, missing)
