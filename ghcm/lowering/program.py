"""The whole program: declarations, then units in the order in which they need each other, then what they agree on.

Drafts become tasks here, once all of them have their ids; the step of an iteration becomes a graph inside of its task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from ghcm.codes import Code
from ghcm.errors import Diagnostics, ProgramError, Reported, attempt, sound, suggest
from ghcm.expr import Expr, Var
from ghcm.language import ast
from ghcm.lowering.context import Context, Notes, Scope, origin_of
from ghcm.lowering.declarations.names import Declared, declare, writers
from ghcm.lowering.declarations.sinks import (
    Write,
    agreed,
    cache_of,
    check_addresses,
    check_names,
    check_text,
    key_of,
    sink_of,
    with_columns,
)
from ghcm.lowering.declarations.units import lower_unit, parameters_of, signature_of
from ghcm.lowering.drafts import Draft, Flow, RoundDrafts, Signature, SinkDraft, UnitDraft
from ghcm.lowering.expressions.functions import condition, too_deep
from ghcm.lowering.expressions.typed import typed
from ghcm.lowering.operators.ends import check_cycles
from ghcm.lowering.types import Records
from ghcm.source import Source, Span
from ghcm.spg.graph import Input, Program, Sink, Task, Unit, entry_of
from ghcm.spg.ops import Iterate, Publish
from ghcm.types import Shape, Struct, Type


def lower(program: ast.Program) -> Program:
    """The SPG of a program; ProgramError with all its mistakes at once."""
    diagnostics = Diagnostics()
    try:
        return _lowered(program, diagnostics)
    except RecursionError:
        message = "a pipeline of this program is longer than can be followed"
        hint = "x = ... gives a name to a part of it."
        diagnostics.error(Code.TOO_DEEP.value, message, program.name.span, hint=hint)
    raise ProgramError(diagnostics)


def look(program: ast.Program, units: Iterable[str]) -> Notes:
    """What can be found out about these units of a program that may have mistakes."""
    notes = Notes()
    with suppress(RecursionError):
        assembly = _assembled(declare(program, Diagnostics(), notes))
        for name in units:
            if name in assembly.declared:
                with suppress(RecursionError):
                    assembly.unit(name)
    return notes


def lower_condition(source: Source, columns: Struct) -> Expr:
    """A condition that stands outside of any program, on columns by their names; ProgramError with its mistakes."""
    from ghcm.language.parser import parse_expr

    written, diagnostics = parse_expr(source), Diagnostics()
    names = {each.name: Var(each.name, each.type) for each in columns.fields}
    scope = Scope(Context(diagnostics, Records({}, diagnostics), {}, typed)).binding(names)
    found: Expr | None = None
    if too_deep(written):
        scope.report(Code.TOO_DEEP, "this condition nests too deeply", written.span)
    else:
        found = attempt(condition, written, scope, "the condition")
    if found is None:
        raise ProgramError(diagnostics)
    return found


def _lowered(program: ast.Program, diagnostics: Diagnostics) -> Program:
    declared = declare(program, diagnostics)
    context = declared.context
    caches = [attempt(cache_of, each, context) for each in declared.caches.values()]
    assembly = _assembled(declared)
    check_addresses((sink for sink in assembly.sinks.values() if sink is not None), context)
    units = [_unit(assembly.unit(name), context) for name in declared.units]
    check_cycles(assembly.published, context)
    sinks = assembly.finished_sinks()
    diagnostics.check()
    return Program(program.name.text, tuple(each for each in caches if each is not None), sinks, tuple(units))


def _assembled(declared: Declared) -> _Assembly:
    context = declared.context
    return _Assembly(
        context,
        declared.units,
        {name: attempt(sink_of, each, context) for name, each in declared.sinks.items()},
        {name: signature_of(each, context) for name, each in declared.units.items()},
    )


@dataclass(eq=False, slots=True)
class _Assembly:
    """The program under construction: the `Surroundings` of every unit, which lowers another unit when one needs to
    know it.
    """

    context: Context
    declared: Mapping[str, ast.UnitDecl]
    sinks: Mapping[str, SinkDraft | None]
    signatures: Mapping[str, Signature]
    published: list[tuple[str, str, Span | None]] = field(default_factory=list[tuple[str, str, Span | None]])
    writes: dict[str, list[Write]] = field(default_factory=dict[str, list[Write]])
    lowered: dict[str, UnitDraft] = field(default_factory=dict[str, UnitDraft])
    open: list[str] = field(default_factory=list[str])
    known_writers: Mapping[str, list[str]] | None = None

    @property
    def writers(self) -> Mapping[str, list[str]]:
        """The units that write each sink. Looked for when it is asked: most of a program need not be walked for a
        look at one unit.
        """
        if self.known_writers is None:
            self.known_writers = writers(self.declared)
        return self.known_writers

    def unit(self, name: str) -> UnitDraft:
        """The unit of that name, lowered once."""
        if name not in self.lowered:
            self.open.append(name)
            self.lowered[name] = lower_unit(self.declared[name], self, self.context)
            self.open.pop()
        return self.lowered[name]

    def element_of(self, sink: str, span: Span | None) -> Type:
        """The type of a sink's records: as declared, or what those who write it give."""
        declared = sound(self.sinks[sink])
        if declared.element is not None:
            return declared.element
        for name in self.writers.get(sink, ()):
            if name in self.open:
                why = f'What it holds depends on unit "{name}", which in turn depends on it.'
                raise self._unknown(sink, span, why)
            self.unit(name)
        if sink not in self.writes:
            raise self._unknown(sink, span, "Nobody writes it.")
        return agreed(declared, self.writes[sink], self.context)

    def table_of(self, unit: str, name: str, span: Span | None) -> Flow:
        """The table of that name of a stream unit."""
        declaration = self.declared[unit]
        if unit in self.open or declaration.kind != "stream" or declaration.responsive:
            message = f'unit "{unit}" keeps no table'
            hint = "Tables are kept by stream units that run for ever."
            raise self.context.report(Code.BAD_READ, message, span, hint=hint)
        draft = self.unit(unit)
        tables = _tables(draft)
        if name in tables:
            return tables[name]
        if name in draft.assigned:
            sound(draft.assigned[name])
            message = f'"{name}" of unit "{unit}" is no table'
            detail = "A table is a named aggregation by key without a window."
            hint = f"Tables of it are {', '.join(tables)}." if tables else ""
            raise self.context.report(Code.BAD_READ, message, span, detail=detail, hint=hint)
        message = f'unit "{unit}" has no table "{name}"'
        raise self.context.report(Code.UNKNOWN_NAME, message, span, hint=suggest(name, tables))

    def written(self, sink: str, element: Type | None, span: Span | None) -> None:
        """Note that a sink is written."""
        self.writes.setdefault(sink, []).append(Write(element, span))

    def calls(self, caller: str, called: str, span: Span | None) -> None:
        """Note that a unit calls another."""
        self.published.append((caller, called, span))

    def finished_sinks(self) -> tuple[Sink, ...]:
        """The sinks with their elements and typed keys; one that nobody writes and no record describes is left out."""
        found: list[Sink] = []
        for name, declared in self.sinks.items():
            writes = self.writes.get(name, [])
            if declared is None or (declared.element is None and not writes):
                continue
            element = attempt(agreed, declared, writes, self.context)
            if element is not None:
                check_names(declared, element, self.context)
                key = key_of(declared, element, self.context)
                connector = with_columns(declared, element, self.context)
                check_text(declared, connector, element, self.context)
                found.append(Sink(name, connector, declared.mode, key, element, origin_of(declared.span)))
        return tuple(found)

    def _unknown(self, sink: str, span: Span | None, why: str) -> Reported:
        message = f'nothing says what is in sink "{sink}"'
        hint = f"Declare its record: sink {sink} = ...(..., record = Record)."
        return self.context.report(Code.NOBODY_WRITES, message, span, detail=why, hint=hint)


def _tables(unit: UnitDraft) -> dict[str, Flow]:
    """The tables that can be read: assignments, and tasks that `named` names."""
    named = {draft.id: Flow(draft, draft.collection) for draft in unit.drafts if draft.named is not None}
    assigned = {name: bound for name, bound in unit.assigned.items() if isinstance(bound, Flow)}
    return {name: flow for name, flow in (named | assigned).items() if flow.collection.shape is Shape.TABLE}


def _unit(unit: UnitDraft, context: Context) -> Unit:
    declaration = unit.declaration
    parameters = parameters_of(declaration, unit.around.signatures[unit.name].parameters, context)
    cache = None if declaration.cache is None else declaration.cache.text
    tasks = tuple(task_of(draft) for draft in unit.drafts)
    origin = origin_of(declaration.name.span)
    engine = "auto" if declaration.engine is None else declaration.engine.text
    asked = declaration.parallelism
    parallelism = asked.value if asked is not None and isinstance(asked.value, int) else None
    return Unit(
        unit.name, declaration.kind, declaration.responsive, parameters, cache, tasks, origin, engine, parallelism
    )


_NOTHING: Mapping[Draft, str] = {}


def task_of(draft: Draft, entries: Mapping[Draft, str] = _NOTHING) -> Task:
    """The task of a draft; `entries` are what stands in a step for tasks outside of it."""
    inputs = tuple(Input(entries.get(producer, producer.id), exchange) for producer, exchange in draft.inputs)
    op = draft.op
    if isinstance(op, Publish) and draft.after is not None:
        op = replace(op, after=draft.after.id)
    if isinstance(op, Iterate) and draft.step is not None:
        op = _with_step(draft, op, draft.step)
    origin = origin_of(draft.span)
    return Task(draft.id, op, inputs, draft.collection, origin, named=draft.is_named, calls=draft.calls)


def _with_step(draft: Draft, op: Iterate, step: RoundDrafts) -> Iterate:
    """The iteration with its tasks, which are called after it and their operators."""
    entries = {producer: entry_of(index) for index, (producer, _) in enumerate(draft.inputs) if index}
    entries[step.entry] = entry_of(0)
    words: dict[str, int] = {}
    for inner in step.drafts:
        base = f"{draft.id}/step/{inner.named or inner.word}"
        words[base] = words.get(base, 0) + 1
        inner.id = base if words[base] == 1 else f"{base}~{words[base]}"
    tasks = tuple(task_of(inner, entries) for inner in step.drafts)
    return replace(op, tasks=tasks, result=entries.get(step.result, step.result.id))
