"""`as` and `union`: the two operators that raw collections take, too."""

from __future__ import annotations

from dataclasses import replace

from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.language import ast
from ghcm.lowering.drafting import Step
from ghcm.lowering.finals import ends_as_pairs, final
from ghcm.lowering.flows import Bound, Flow, Raw
from ghcm.lowering.operators.sources import decode, settle
from ghcm.lowering.types import LINE
from ghcm.spg.graph import Forward
from ghcm.spg.ops import Union
from ghcm.types import Shape, Struct
from ghcm.types.unification import accepts, unify


def as_record(step: Step, of: Flow | Raw) -> Bound:
    """Raw records become records; the sources decode them themselves."""
    element = _record(step)
    if isinstance(of, Flow):
        hint = "map(x => Record { ... }) makes others of them."
        if of.collection.element == LINE:
            hint = "These are lines of text; format = json or format = csv of the source makes them raw records."
        step.report(Code.NOT_RAW, f'these are records of "{of.collection.element}" already', hint=hint)
        return None
    return None if element is None else decode(step, of, element)


def union(step: Step, first: Flow | Raw | None) -> Bound:
    """All records of all inputs; raw inputs stay raw."""
    inputs: list[Bound] = [] if first is None else [first]
    inputs += [step.evaluate(argument.value) for argument in step.given.rest]
    known = [each for each in inputs if each is not None]
    if len(known) < len(inputs):
        return None
    if len(known) == 1:
        step.report(Code.ARGUMENT_MISSING, "a union is of two collections at least")
        return None
    raw = [each for each in known if isinstance(each, Raw)]
    if len(raw) == len(known):
        sources = tuple(source for each in raw for source in each.sources)
        return Raw(sources, (step.span, *(span for each in raw for span in each.unions)))
    settled = [settle(step, each) if isinstance(each, Raw) else each for each in known]
    flows = [each for each in settled if each is not None]
    if len(flows) < len(settled):
        return None
    return _union(step, [final(step, each) if ends_as_pairs(each.collection) else each for each in flows])


def _record(step: Step) -> Struct | None:
    written = step.given.expr("record")
    names = step.context.records.names
    match written:
        case ast.Ref(name=name) if name in names or name in step.context.records.unions:
            return step.context.records.get(name)
        case ast.Ref(name=name, span=span):
            step.report(Code.UNKNOWN_NAME, f'there is no record "{name}"', span, hint=suggest(name, names))
        case other:
            step.given.wrong("record", "the name of a record", None if other is None else other.span)
    return None


def _union(step: Step, flows: list[Flow]) -> Bound:
    first = flows[0].collection
    element = first.element
    for flow in flows[1:]:
        problem = _difference(flows[0], flow)
        both = unify(element, flow.collection.element)
        fits = both is not None and accepts(both, element) and accepts(both, flow.collection.element)
        if problem or both is None or not fits:
            step.report(
                Code.UNION_DIFFERS,
                "the inputs of this union are not alike",
                detail=problem or f'One holds "{element}", another "{flow.collection.element}".',
                hint="map(...) brings them to the same record." if not problem else "",
            )
            return None
        element = both
    collection = replace(first, element=element, bounded=all(flow.collection.bounded for flow in flows))
    draft = step.add(Union(), collection, *((flow, Forward()) for flow in flows))
    return Flow(draft, collection, any(f.regrouped for f in flows), any(f.open_window for f in flows))


def _difference(one: Flow, other: Flow) -> str:
    mine, its = one.collection, other.collection
    if Shape.TABLE in (mine.shape, its.shape):
        return "One is a table."
    if mine.shape is not its.shape:
        return "One is a stream, another holds pairs."
    if mine.windowed != its.windowed:
        return "Only some of them have windows."
    if mine.timed != its.timed:
        return "Only some of them have event time."
    return ""
