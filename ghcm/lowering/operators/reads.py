"""`read`: what a sink holds, or what a table of a stream unit knows."""

from __future__ import annotations

from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.expr import Expr
from ghcm.language import ast
from ghcm.lowering.context import Scope
from ghcm.lowering.drafting import Step
from ghcm.lowering.expressions import typed
from ghcm.lowering.flows import Bound, Flow
from ghcm.lowering.records import fits
from ghcm.source import Span
from ghcm.spg.ops import ReadSink, ReadTable
from ghcm.types import Collection, Shape, Struct, Type


def read(step: Step, receiver: ast.Expr) -> Bound:
    """The records of what stands before `.read()`."""
    around = step.unit.around
    match receiver:
        case ast.Ref(name=name) if name in around.sinks:
            return _sink(step, name, receiver)
        case ast.Attribute(of=ast.Ref(name=unit), name=table, name_span=span) if unit in around.signatures:
            return _table(step, unit, table, span or receiver.span)
        case ast.Ref(name=name, span=span) if name in step.unit.assigned:
            message = f'"{name}" is a collection already and is used by its name'
            step.report(Code.BAD_READ, message, span)
        case ast.Ref(name=name, span=span) if name in around.signatures:
            message = f'"{name}" is a unit; what can be read is one of its tables'
            step.report(Code.BAD_READ, message, span, hint=f"Write {name}.table.read().")
        case ast.Ref(name=name, span=span):
            step.report(Code.UNKNOWN_NAME, f'there is no sink "{name}"', span, hint=suggest(name, around.sinks))
        case ast.Attribute(of=ast.Ref(name=unit, span=span)):
            names = around.signatures
            step.report(Code.UNKNOWN_NAME, f'there is no unit "{unit}"', span, hint=suggest(unit, names))
        case other:
            message = '"read" is of a sink or of a table of a unit'
            hint = "sink x = ...(..., record = Record) declares a sink; x.read() and unit.table.read() read."
            step.report(Code.BAD_READ, message, other.span, hint=hint)
    return None


def _sink(step: Step, name: str, receiver: ast.Expr) -> Bound:
    if step.given.expr("key") is not None:
        message = "a sink is read as a whole; only a table is read by key"
        step.report(Code.BAD_READ, message, step.given.span("key"), hint="filter(...) keeps some records.")
    element = step.unit.around.element_of(name, receiver.span)
    if element is None:
        return None
    collection = Collection(Shape.STREAM, element, True)
    return Flow(step.add(ReadSink(name), collection), collection)


def _table(step: Step, unit: str, name: str, place: Span | None) -> Bound:
    declaration = step.unit.declaration
    if not (declaration.kind == "stream" and declaration.responsive):
        step.report(
            Code.BAD_READ,
            f'only a responsive stream unit reads a table, and "{step.unit.name}" is none',
            place,
            detail="A table is the live state of a stream unit; it is answered from where it is kept.",
            hint="A sink that the table is written to can be read by every unit.",
        )
        return None
    flow = step.unit.around.table_of(unit, name, place)
    if flow is None:
        return None
    element = flow.collection.element
    assert isinstance(element, Struct), "tables hold pairs"
    key = _key(step, element.fields[0].type)
    if step.given.expr("key") is not None and key is None:
        return None
    collection = Collection(Shape.PAIRS, element, True)
    return Flow(step.add(ReadTable(unit, flow.draft.id, key), collection), collection)


def _key(step: Step, type_: Type) -> Expr | None:
    written = step.given.expr("key")
    if written is None:
        return None
    scope = Scope(parameters=step.unit.scope.parameters, collections=step.unit.scope.collections)
    key = typed(written, scope, step.context)
    return None if key is None else fits(key, type_, "the key of the table", written.span, step.context)
