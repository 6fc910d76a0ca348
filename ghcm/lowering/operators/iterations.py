"""`iterate`: a step that is itself a pipeline, and the condition that ends it."""

from __future__ import annotations

from dataclasses import replace

from ghcm.codes import Code
from ghcm.expr import Expr, Literal
from ghcm.language import ast
from ghcm.lowering.context import Scope
from ghcm.lowering.drafting import Step
from ghcm.lowering.expressions import typed
from ghcm.lowering.flows import Bound, Draft, Flow, Raw, RoundDrafts
from ghcm.lowering.operators.sources import settle
from ghcm.lowering.operators.until import until_of
from ghcm.lowering.records import fits
from ghcm.spg.graph import Global
from ghcm.spg.ops import Iterate, Publish, Reply, To, Union
from ghcm.types import Collection, Int
from ghcm.types.unification import accepts


def iterate(step: Step, flow: Flow) -> Bound:
    """A step, repeated until a condition holds, at most `limit` times."""
    limit = _limit(step)
    if flow.collection.windowed:
        step.report(Code.BAD_STEP, "an iteration of records in windows cannot be", hint="Aggregate them first.")
        return None
    collection = replace(flow.collection, timed=False)
    round_ = _round(step, collection)
    until = until_of(step, collection.element)
    if round_ is None or limit is None or (until is None and step.given.expr("until") is not None):
        return Flow(step.add(Union(), collection, (flow, Global())), collection, regrouped=True)
    outer = _outer(round_)
    op = Iterate((), "", limit, until)
    inputs = [(flow, Global()), *((Flow(each, each.collection), Global()) for each in outer)]
    draft = step.add(op, collection, *inputs, keeps_state=True)
    draft.step = round_
    return Flow(draft, collection, regrouped=True)


def _limit(step: Step) -> Expr | None:
    """The greatest number of rounds: a constant or a parameter of the unit, not of a record."""
    written = step.given.expr("limit")
    if written is None:
        return None
    scope = Scope(parameters=step.unit.scope.parameters, collections=step.unit.scope.collections)
    limit = typed(written, scope, step.context)
    if limit is None:
        return None
    if isinstance(limit, Literal) and isinstance(limit.value, int) and limit.value < 1:
        step.report(Code.OUT_OF_RANGE, '"limit" of "iterate" is less than 1', written.span)
        return None
    return fits(limit, Int(), '"limit" of "iterate"', written.span, step.context)


def _round(step: Step, collection: Collection) -> RoundDrafts | None:
    """The tasks of the step; those that do not look at the records of the round stay in the unit, before it."""
    written = step.given.expr("step")
    if not isinstance(written, ast.Lambda) or len(written.parameters) != 1:
        span = None if written is None else written.span
        hint = "For example s => s.join(more, on = ...).map(...)."
        step.report(Code.BAD_LAMBDA, '"step" of "iterate" is a function of one collection', span, hint=hint)
        return None
    unit, parameter = step.unit, written.parameters[0]
    if parameter.text in unit.assigned or parameter.text in unit.scope.parameters:
        message = f'"{parameter.text}" would hide the collection or parameter of that name'
        step.report(Code.RESERVED, message, parameter.span)
        return None
    first, ends = len(unit.drafts), unit.ends
    entry = Draft("iterate", Union(), (), collection, parameter.span)
    unit.assigned[parameter.text] = Flow(entry, collection, regrouped=True)
    bound = step.evaluate(written.body)
    del unit.assigned[parameter.text]
    result = settle(step, bound) if isinstance(bound, Raw) else bound
    drafts = unit.drafts[first:]
    unit.ends = ends
    if any(isinstance(each.op, To | Publish | Reply) for each in drafts):
        step.report(
            Code.BAD_STEP,
            'the "step" of "iterate" writes',
            written.body.span,
            detail="A step runs many times; it makes records and leaves them to what stands behind.",
            hint="Write behind the iteration: x.iterate(...).to(sink).",
        )
        return None
    if result is None or not _fits(step, collection, result, written.body):
        return None
    inside = _inside(entry, drafts)
    unit.drafts[first:] = [each for each in drafts if each not in inside]
    return RoundDrafts(entry, tuple(inside), result.draft)


def _inside(entry: Draft, drafts: list[Draft]) -> list[Draft]:
    """The tasks that look at the records of the round, directly or not."""
    inside: list[Draft] = []
    for draft in drafts:
        if any(producer is entry or producer in inside for producer, _ in draft.inputs):
            inside.append(draft)
    return inside


def _outer(round_: RoundDrafts) -> list[Draft]:
    """What the step reads beside the records of the round, each once."""
    known = (round_.entry, *round_.drafts)
    read = [producer for draft in round_.drafts for producer, _ in draft.inputs]
    return list(dict.fromkeys(each for each in (*read, round_.result) if each not in known))


def _fits(step: Step, collection: Collection, result: Flow, body: ast.Expr) -> bool:
    found = result.collection
    if found.shape is not collection.shape or found.windowed or not accepts(collection.element, found.element):
        step.report(
            Code.BAD_STEP,
            'the "step" of "iterate" does not give what it takes',
            body.span,
            detail=f'It takes "{collection}" and gives "{found}".',
            hint="map(...) at its end, or before the iteration, brings them to the same record.",
        )
        return False
    if not found.bounded:
        step.report(Code.NEEDS_BOUNDED, 'the "step" of "iterate" gives records for ever', body.span)
        return False
    return True
