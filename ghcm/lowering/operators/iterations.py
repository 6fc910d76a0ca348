"""`iterate`: a step that is itself a pipeline, and the condition that ends it.

The condition `(before, after) => after.count() == before.count()` compares totals of two collections.
"""

from dataclasses import replace
from typing import cast

from ghcm.codes import Code
from ghcm.errors import attempt, every, sound
from ghcm.expr import Call as TypedCall
from ghcm.expr import Expr, Get, Lambda, Var, walk
from ghcm.functions import FUNCTIONS
from ghcm.language import ast, trees
from ghcm.lowering.drafts import IN_A_BATCH, RULES, Bound, Draft, Flow, Raw, RoundDrafts, Step, rule
from ghcm.lowering.expressions.aggregates import Aggregated, aggregate_of
from ghcm.lowering.expressions.functions import condition
from ghcm.lowering.operators.groups import totals
from ghcm.lowering.operators.sources import settle
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.spg.graph import Global
from ghcm.spg.ops import Iterate, Publish, Reply, To, Union, Until
from ghcm.types import Collection, Int, Type, as_nullable
from ghcm.unification import accepts


@rule(RULES, "iterate")
def iterate(step: Step, flow: Flow) -> Bound:
    """A step, repeated until a condition holds, at most `limit` times."""
    limit = attempt(step.of_unit, "limit", Int(), '"limit" of "iterate"', least=1)
    if flow.collection.windowed:
        raise step.report(Code.BAD_STEP, "an iteration of records in windows cannot be", hint="Aggregate them first.")
    collection = replace(flow.collection, timed=False)
    round_ = attempt(_round, step, collection)
    until = attempt(until_of, step, collection.element)
    if round_ is None or limit is None or (until is None and step.given.expr("until") is not None):
        return Flow(step.add(Union(), collection, (flow, Global())), collection, regrouped=True)
    inputs = [(flow, Global()), *((Flow(each, each.collection), Global()) for each in _outer(round_))]
    draft = step.add(Iterate((), "", limit, until), collection, *inputs, keeps_state=True)
    draft.step = round_
    return Flow(draft, collection, regrouped=True)


def _round(step: Step, collection: Collection) -> RoundDrafts:
    """The tasks of the step; those that do not look at the records of the round stay in the unit, before it."""
    written = step.given.expr("step")
    if not isinstance(written, ast.Lambda) or len(written.parameters) != 1:
        span = None if written is None else written.span
        hint = "For example s => s.join(more, on = ...).map(...)."
        raise step.report(Code.BAD_LAMBDA, '"step" of "iterate" is a function of one collection', span, hint=hint)
    unit, parameter = step.unit, written.parameters[0]
    if parameter.text in unit.assigned or parameter.text in unit.scope.parameters:
        message = f'"{parameter.text}" would hide the collection or parameter of that name'
        raise step.report(Code.RESERVED, message, parameter.span)
    first, ends = len(unit.drafts), unit.ends
    entry = Draft("iterate", Union(), (), collection, parameter.span)
    unit.assigned[parameter.text] = Flow(entry, collection, regrouped=True)
    bound = attempt(step.evaluate, written.body)
    del unit.assigned[parameter.text]
    result = attempt(settle, step, bound) if isinstance(bound, Raw) else bound
    drafts = unit.drafts[first:]
    unit.ends = ends
    if any(isinstance(each.op, To | Publish | Reply) for each in drafts):
        detail = "A step runs many times; it makes records and leaves them to what stands behind."
        hint = "Write behind the iteration: x.iterate(...).to(sink)."
        raise step.report(Code.BAD_STEP, 'the "step" of "iterate" writes', written.body.span, detail=detail, hint=hint)
    result = sound(result)
    _check_result(step, collection, result.collection, written.body)
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


def _check_result(step: Step, collection: Collection, found: Collection, body: ast.Expr) -> None:
    if found.shape is not collection.shape or found.windowed or not accepts(collection.element, found.element):
        message = 'the "step" of "iterate" does not give what it takes'
        detail = f'It takes "{collection}" and gives "{found}".'
        hint = "map(...) at its end, or before the iteration, brings them to the same record."
        raise step.report(Code.BAD_STEP, message, body.span, detail=detail, hint=hint)
    if not found.bounded:
        raise step.report(Code.NEEDS_BOUNDED, 'the "step" of "iterate" gives records for ever', body.span)


_F = AggregateFunction
_TOTALS = (_F.COUNT, _F.SUM, _F.MEAN, _F.MIN, _F.MAX, _F.VAR, _F.STD, _F.DISTINCT_COUNT)
"""What totals are made of: aggregates that neither go by an order nor hold the records themselves."""
_NEVER_NULL = (_F.COUNT, _F.DISTINCT_COUNT)


def until_of(step: Step, element: Type) -> Until | None:
    """The condition of `until` with the aggregates that it compares; None where there is none."""
    written = step.given.expr("until")
    if written is None:
        return None
    if not isinstance(written, ast.Lambda) or len(written.parameters) != 2:
        message, hint = '"until" of "iterate" is a function of two collections', _COMPARES
        raise step.report(Code.BAD_LAMBDA, message, written.span, hint=hint)
    names = tuple(parameter.text for parameter in written.parameters)
    if names[0] == names[1]:
        message = f'parameter "{names[0]}" stands here twice'
        raise step.report(Code.DECLARED_TWICE, message, written.parameters[1].span)
    found: dict[str, list[Aggregate | None]] = {name: [] for name in names}
    body = cast("ast.Expr", _replaced(written.body, step, element, found))
    before, after = (every(sound, several) for several in found.values())
    sides = (before, after)
    parameters = [Var(name, totals(each)) for name, each in zip(("before", "after"), sides, strict=True)]
    values: dict[str, Expr | None] = {
        _name_of_total(name, index): Get(parameter, each.name, each.type)
        for name, parameter, several in zip(names, parameters, sides, strict=True)
        for index, each in enumerate(several)
    }
    hidden = frozenset(names) | step.scope.collections
    test = condition(body, replace(step.scope, variables=values, collections=hidden), '"until" of "iterate"')
    return Until(before, after, Lambda(tuple(parameters), test))


_COMPARES = "For example (before, after) => after.count() == before.count()."


def _name_of_total(name: str, index: int) -> str:
    """What stands for an aggregate in the condition; no program can write it."""
    return f"{name}.{index}"


def _replaced(node: object, step: Step, element: Type, found: dict[str, list[Aggregate | None]]) -> object:
    """The tree in which `before.count()` and the like are names, their aggregates added to `found`."""
    match node:
        case ast.Apply(function=ast.Attribute(of=ast.Ref(name=side), name=word), arguments=arguments, span=span) if (
            side in found
        ):
            call = ast.Apply(ast.Ref(word, span=span), arguments, span=span)
            found[side].append(attempt(_aggregate, step, call, element, f"a{len(found[side]) + 1}"))
            return ast.Ref(_name_of_total(side, len(found[side]) - 1), span=span)
        case ast.Node():
            return trees.changed(node, _replaced, step, element, found)
        case _:
            return node


def _aggregate(step: Step, call: ast.Apply, element: Type, name: str) -> Aggregate:
    """One total; nothing but a count is known of an empty collection, and no record may fail in it."""
    word = call.function.name if isinstance(call.function, ast.Ref) else ""
    if word not in [each.value for each in _TOTALS]:
        message = f'"{word}" is not an aggregate of a whole collection'
        hint = f"{', '.join(each.value for each in _TOTALS)} are, for example count() and sum(x => ...)."
        raise step.report(Code.BAD_AGGREGATE, message, call.span, hint=hint)
    made = aggregate_of(name, call, Aggregated(element, False, step.scope, IN_A_BATCH))
    argument = made.argument
    if argument is not None and any(
        isinstance(part, TypedCall) and FUNCTIONS[part.function].failures for part in walk(argument.body)
    ):
        hint = "map(...) in the step makes a column of it, where a record that fails becomes a dead letter."
        raise step.report(Code.BAD_AGGREGATE, 'a record may fail in an aggregate of "until"', call.span, hint=hint)
    return made if made.function in _NEVER_NULL else replace(made, type=as_nullable(made.type))
