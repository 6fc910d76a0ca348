"""Puts a unit's generated module together: a section per task, the constants they share, and the table `TASKS`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from ghcm.codegen.formatting import format_python
from ghcm.codegen.native.chains import chain_of, operator_name, panes_of
from ghcm.codegen.native.columns.chains import column_chain
from ghcm.codegen.native.columns.text import Unsupported
from ghcm.codegen.native.groups import GroupOp, group_code
from ghcm.codegen.native.joins import join_functions
from ghcm.codegen.native.names import RESERVED, Names, imports_of
from ghcm.codegen.native.rows.chains import row_chain
from ghcm.codegen.native.rows.lines import expression_function
from ghcm.codegen.native.rows.text import Module
from ghcm.codegen.native.tasks import iterate_functions, order_functions, policy_functions, sink_key, time_functions
from ghcm.codegen.templating import render
from ghcm.spg import ops
from ghcm.spg.graph import Program, Task, Unit, step_unit


@dataclass
class _Section:
    """What the module holds of one task: its functions, its entry in `TASKS`, and why a form is missing."""

    task: Task
    title: str
    functions: list[str] = field(default_factory=list[str])
    entry: str = ""
    missing: list[str] = field(default_factory=list[str])


def generate(program: Program, unit: Unit) -> str:
    """The text of the module `native/<unit>.py` of a bundle; the same for the same graph."""
    module = Module(Names(RESERVED))
    names = Names()
    sections = _sections(program, unit, module, names)
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


def _sections(program: Program, unit: Unit, module: Module, names: Names) -> list[_Section]:
    """The tasks of a unit that have code; those of a step have theirs in the entry of the iteration."""
    sections: list[_Section] = []
    for task in unit.tasks:
        name = names.new(task.id)
        if isinstance(task.op, ops.Iterate):
            sections.append(_iterate(program, unit, task, task.op, name, module, names))
        elif section := _section(program, unit, task, name, module):
            sections.append(section)
    return sections


def _iterate(
    program: Program, unit: Unit, task: Task, op: ops.Iterate, name: str, module: Module, names: Names
) -> _Section:
    """An iteration, with the functions of its step before its own."""
    section = _Section(task, f"{task.id}: {operator_name(op)}  ({task.origin})")
    inner = _sections(program, step_unit(unit, task, op), module, names)
    functions, parts = iterate_functions(op, name, module)
    section.functions = [*(text for each in inner for text in each.functions), *functions]
    section.missing = [f"{each.task.id}: {reason}" for each in inner for reason in each.missing]
    tasks = ", ".join(f'"{each.task.id}": {each.entry}' for each in inner)
    section.entry = _entry("IterateCode", tasks=f"{{{tasks}}}", **parts)
    return section


def _rule(title: str) -> str:
    return f"# --- {title} ".ljust(119, "-")


def _section(program: Program, unit: Unit, task: Task, name: str, module: Module) -> _Section | None:
    op = task.op
    section = _Section(task, f"{task.id}: {operator_name(op)}  ({task.origin})")
    if isinstance(op, ops.RowOp | ops.Fused):
        _rows(section, unit, name, module)
        return section
    match op:
        case ops.EventTime():
            _times(section, unit, op, name, module)
        case ops.ReduceByKey() | ops.AggregateByKey() | ops.GroupByKey() | ops.Count():
            _group(section, unit, op, name, module)
        case ops.Sort() | ops.Top():
            _order(section, unit, op, name, module)
        case ops.Join():
            _join(section, unit, op, name, module)
        case ops.To(sink=sink):
            key = sink_key(task, program.sink(sink), unit, name, module)
            section.functions = [] if key is None else [key]
            section.entry = _entry("SinkCode", key=None if key is None else f"{name}_key")
        case ops.Publish():
            _policy(section, unit, op, name, module)
        case ops.ReadTable(key=wanted) if wanted is not None:
            section.functions = [expression_function(f"{name}_key", wanted, module)]
            section.entry = _entry("ReadCode", key=f"{name}_key")
        case (
            ops.Source()
            | ops.ArrivalTime()
            | ops.Sessions()
            | ops.PythonBatch()
            | ops.Union()
            | ops.Changes()
            | ops.Distinct()
            | ops.Iterate()
        ):
            return None
        case ops.ReadSink() | ops.ReadTable() | ops.Reply():
            return None
        case _:
            assert_never(op)
    return section


def _entry(kind: str, **parts: str | None) -> str:
    return f"{kind}({', '.join(f'{name}={text}' for name, text in parts.items() if text is not None)})"


def _names(functions: tuple[str, ...]) -> str:
    return "(" + "".join(f'"{each}", ' for each in functions).rstrip() + ")"


def _note(section: _Section, reason: Unsupported | None) -> None:
    if reason is not None:
        section.missing.append(f"by rows only: {reason}")


def _rows(section: _Section, unit: Unit, name: str, module: Module) -> None:
    chain = chain_of(section.task, unit, panes_of(unit).get(section.task.id))
    assert chain is not None
    text, functions = row_chain(chain, name, module)
    section.functions.append(text)
    columnar = column_chain(chain, name)
    if isinstance(columnar, Unsupported):
        _note(section, columnar)
    else:
        section.functions.append(columnar)
    section.entry = _entry(
        "RowCode",
        rows=f"{name}_rows",
        columns=None if isinstance(columnar, Unsupported) else f"{name}_columns",
        functions=_names(functions) if functions else None,
    )


def _times(section: _Section, unit: Unit, op: ops.EventTime, name: str, module: Module) -> None:
    section.functions, reason = time_functions(section.task, op, unit, name, module)
    section.entry = _entry("TimeCode", rows=f"{name}_times", columns=None if reason else f"{name}_times_columns")
    _note(section, reason)


def _group(section: _Section, unit: Unit, op: GroupOp, name: str, module: Module) -> None:
    found = group_code(section.task, op, unit, name, module)
    section.functions += found.functions
    parts = {part: f"{name}_{part}" for part in ("first", "add", "merge", "result")}
    if found.partial is None:
        parts |= {part: f"{name}_{part}" for part in found.columnar}
    else:
        section.missing.append(f"not pre-aggregated: {found.partial}")
    section.entry = _entry(
        "GroupCode", **parts, timed="True" if found.timed else None, slices=_slices(section.task, unit)
    )


def _order(section: _Section, unit: Unit, op: ops.Sort | ops.Top, name: str, module: Module) -> None:
    section.functions, reason = order_functions(section.task, op, unit, name, module)
    count = None
    if isinstance(op, ops.Top):
        count = f"{name}_count"
        section.functions.append(expression_function(count, op.count, module))
    columns = None if reason else f"{name}_by_columns"
    section.entry = _entry("OrderCode", by=f"{name}_by", count=count, columns=columns)
    _note(section, reason)


def _join(section: _Section, unit: Unit, op: ops.Join, name: str, module: Module) -> None:
    section.functions, reason = join_functions(section.task, op, unit, name, module)
    belong = "" if op.residual is None else f", {name}_belong"
    columns = f"JoinColumns({name}_left_columns, {name}_right_columns, {name}_joined{belong})"
    section.entry = _entry(
        "JoinCode",
        left=f"{name}_left",
        right=f"{name}_right",
        residual=None if op.residual is None else f"{name}_residual",
        columns=None if reason else columns,
    )
    _note(section, reason)


def _policy(section: _Section, unit: Unit, op: ops.Publish, name: str, module: Module) -> None:
    section.functions = policy_functions(section.task, op, unit, name, module)
    when = None if op.policy.when is None else f"{name}_when"
    section.entry = _entry(
        "PolicyCode", zero=f"_{name}_zero", add=f"{name}_add", arguments=f"{name}_arguments", when=when
    )


def _slices(task: Task, unit: Unit) -> str | None:
    panes = panes_of(unit).get(task.id)
    return None if panes is None else f"({panes.size_us:_}, {panes.every_us:_})"
