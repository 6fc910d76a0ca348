"""What gives collections besides sources: `read` of a sink or table, and `as` and `union`, which take raw ones."""

from dataclasses import replace

from ghcm.codes import Code
from ghcm.errors import attempt, every, sound, suggest
from ghcm.expr import Expr, Get, Lambda, Literal, MakeStruct, Var
from ghcm.language import ast
from ghcm.lowering.drafts import READS, UNIONS, Bound, Flow, Raw, Step, ends_as_pairs, final, revised, rule
from ghcm.lowering.expressions.applications import operation
from ghcm.lowering.operators.sources import decode, settle
from ghcm.lowering.types import LINE
from ghcm.source import Span
from ghcm.spg.connectors import unreadable
from ghcm.spg.graph import Forward
from ghcm.spg.ops import Map, ReadSink, ReadTable, Union
from ghcm.types import Collection, Duration, Int, Shape, Struct, nullable_like
from ghcm.unification import accepts, unify


@rule(READS, "read")
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
            raise step.report(Code.BAD_READ, message, span)
        case ast.Ref(name=name, span=span) if name in around.signatures:
            message = f'"{name}" is a unit; what can be read is one of its tables'
            raise step.report(Code.BAD_READ, message, span, hint=f"Write {name}.table.read().")
        case ast.Ref(name=name, span=span):
            raise step.report(Code.UNKNOWN_NAME, f'there is no sink "{name}"', span, hint=suggest(name, around.sinks))
        case ast.Attribute(of=ast.Ref(name=unit, span=span)):
            names = around.signatures
            raise step.report(Code.UNKNOWN_NAME, f'there is no unit "{unit}"', span, hint=suggest(unit, names))
        case other:
            message = '"read" is of a sink or of a table of a unit'
            hint = "sink x = ...(..., record = Record) declares a sink; x.read() and unit.table.read() read."
            raise step.report(Code.BAD_READ, message, other.span, hint=hint)


def _sink(step: Step, name: str, receiver: ast.Expr) -> Bound:
    if step.given.expr("key") is not None:
        message = "a sink is read as a whole; only a table is read by key"
        step.report(Code.BAD_READ, message, step.given.span("key"), hint="filter(...) keeps some records.")
    sink = step.unit.around.sinks[name]
    if sink is not None and (why := unreadable(sink.connector)):
        hint = "A sink of files, of parquet, or of redis without a form can be written beside it and read."
        raise step.report(Code.BAD_READ, f'sink "{name}" cannot be read', receiver.span, detail=why, hint=hint)
    element = step.unit.around.element_of(name, receiver.span)
    collection = Collection(Shape.STREAM, element, True)
    return Flow(step.add(ReadSink(name), collection), collection)


def _table(step: Step, unit: str, name: str, span: Span | None) -> Bound:
    declaration = step.unit.declaration
    if not (declaration.kind == "stream" and declaration.responsive):
        message = f'only a responsive stream unit reads a table, and "{step.unit.name}" is none'
        detail = "A table is the live state of a stream unit; it is answered from where it is kept."
        hint = "A sink that the table is written to can be read by every unit."
        raise step.report(Code.BAD_READ, message, span, detail=detail, hint=hint)
    flow = step.unit.around.table_of(unit, name, span)
    key = None
    if step.given.expr("key") is not None:
        key = step.of_unit("key", flow.collection.pair[0], "the key of the table")
    collection = Collection(Shape.PAIRS, flow.collection.element, True)
    return Flow(step.add(ReadTable(unit, flow.draft.id, key), collection), collection)


@rule(UNIONS, "as")
def as_record(step: Step, of: Flow | Raw) -> Bound:
    """Raw records become records; the sources decode them themselves."""
    element = attempt(_record, step)
    if isinstance(of, Flow):
        hint = "map(x => Record { ... }) makes others of them."
        if of.collection.element == LINE:
            hint = "These are lines of text; format = json or format = csv of the source makes them raw records."
        raise step.report(Code.NOT_RAW, f'these are records of "{of.collection.element}" already', hint=hint)
    return _counted(step, of, sound(element))


def _counted(step: Step, of: Raw, element: Struct) -> Flow:
    """The records, of whose timestamps the sources give the numbers that are written where these have a unit."""
    records, span = step.context.records, step.given.span("record")
    units = records.units(element.name or "")
    inside = [each for field in element.fields if (each := records.counting(field.type))]
    if inside or (units and element.cases):
        message = f'the timestamps of "{inside[0] if inside else element.name}" have units and stand within a record'
        hint = "Only fields of the record that as(...) names have them; from_millis(x) makes a timestamp of an int."
        raise step.report(Code.BAD_TYPE, message, span, hint=hint)
    if not units:
        return decode(step, of, element)
    fields = tuple(
        replace(field, type=nullable_like(Int(), field.type)) if field.name in units else field
        for field in element.fields
    )
    flow = decode(step, of, Struct(fields))
    record = Var("r", Struct(fields))
    values = (
        _moment(step, Get(record, each.name, each.type), units[each.name])
        if each.name in units
        else Get(record, each.name, each.type)
        for each in fields
    )
    collection = replace(flow.collection, element=element)
    made = Map(Lambda((record,), MakeStruct(tuple(values), element)))
    return replace(flow, draft=step.row(made, flow, collection), collection=collection)


def _moment(step: Step, number: Expr, unit: str) -> Expr:
    """The timestamp of a whole number that counts milliseconds, microseconds or nanoseconds."""

    def call(function: str, *arguments: Expr) -> Expr:
        return operation(function, arguments, step.span, step.context)

    if unit == "ms":
        return call("from_millis", number)
    thousand = Literal(1_000, Int())
    micros = number if unit == "us" else call("floordiv", number, thousand)
    rest = call("mul", Literal(1, Duration()), call("mod", micros, thousand))
    return call("add", call("from_millis", call("floordiv", micros, thousand)), rest)


def union(step: Step, first: Bound | None) -> Bound:
    """All records of all inputs; raw inputs stay raw."""
    rest = every(lambda argument: step.evaluate(argument.value), step.given.rest)
    inputs = rest if first is None else (first, *rest)
    if len(inputs) == 1:
        raise step.report(Code.ARGUMENT_MISSING, "a union is of two collections at least")
    raw = [each for each in inputs if isinstance(each, Raw)]
    if len(raw) == len(inputs):
        sources = tuple(source for each in raw for source in each.sources)
        return Raw(sources, (step.span, *(span for each in raw for span in each.unions)))

    def settled(each: Bound) -> Flow:
        return settle(step, each) if isinstance(each, Raw) else each

    flows = every(settled, inputs)
    return _union(step, [_flowing(step, each) for each in flows])


def _flowing(step: Step, flow: Flow) -> Flow:
    """The pairs of what is a table."""
    if ends_as_pairs(flow.collection):
        return final(step, flow)
    return revised(step, flow) if flow.collection.shape is Shape.TABLE else flow


rule(UNIONS, "union")(union)  # as a decorator it would hide that there may be no first one


def _record(step: Step) -> Struct:
    records = step.context.records
    match step.given.expr("record"):
        case ast.Ref(name=name) if name in records.names or name in records.unions:
            return records.get(name)
        case ast.Ref(name=name, span=span):
            hint = suggest(name, records.names)
            raise step.report(Code.UNKNOWN_NAME, f'there is no record "{name}"', span, hint=hint)
        case _:  # anything else is none
            raise step.given.wrong("record", "the name of a record")


def _union(step: Step, flows: list[Flow]) -> Bound:
    first = flows[0].collection
    element = first.element
    for flow in flows[1:]:
        problem = _difference(flows[0], flow)
        both = unify(element, flow.collection.element)
        fits = both is not None and accepts(both, element) and accepts(both, flow.collection.element)
        if problem or both is None or not fits:
            detail = problem or f'One holds "{element}", another "{flow.collection.element}".'
            hint = "map(...) brings them to the same record." if not problem else ""
            raise step.report(Code.UNION_DIFFERS, "the inputs of this union are not alike", detail=detail, hint=hint)
        element = both
    bounded, changing = all(each.collection.bounded for each in flows), any(each.collection.changing for each in flows)
    collection = replace(first, element=element, bounded=bounded, changing=changing)
    draft = step.add(Union(), collection, *((flow, Forward()) for flow in flows))
    return Flow(draft, collection, any(f.regrouped for f in flows), any(f.open_window for f in flows))


def _difference(one: Flow, other: Flow) -> str:
    mine, its = one.collection, other.collection
    if mine.shape is not its.shape:
        return "One is a stream, another holds pairs."
    if mine.windowed != its.windowed:
        return "Only some of them have windows."
    if mine.timed != its.timed:
        return "Only some of them have event time."
    return ""
