"""When an iteration ends: `(before, after) => after.count() == before.count()`, totals of two collections compared."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import cast

from ghcm.codes import Code
from ghcm.expr import Call as TypedCall
from ghcm.expr import Expr, Get, Lambda, Var, walk
from ghcm.functions import FUNCTIONS
from ghcm.language import ast
from ghcm.lowering.aggregates import Aggregated, aggregate_of
from ghcm.lowering.context import Scope
from ghcm.lowering.drafting import Step
from ghcm.lowering.expressions import condition
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.spg.ops import Until
from ghcm.types import Field, Struct, Type, as_nullable

_F = AggregateFunction
_TOTALS = (_F.COUNT, _F.SUM, _F.MEAN, _F.MIN, _F.MAX, _F.VAR, _F.STD, _F.DISTINCT_COUNT)
"""What totals are made of: aggregates that neither go by an order nor hold the records themselves."""
_NEVER_NULL = (_F.COUNT, _F.DISTINCT_COUNT)


def until_of(step: Step, element: Type) -> Until | None:
    """The condition of `until` with the aggregates that it compares; None where there is none, or after a report."""
    written = step.given.expr("until")
    if written is None:
        return None
    if not isinstance(written, ast.Lambda) or len(written.parameters) != 2:
        hint = "For example (before, after) => after.count() == before.count()."
        step.report(Code.BAD_LAMBDA, '"until" of "iterate" is a function of two collections', written.span, hint=hint)
        return None
    names = tuple(parameter.text for parameter in written.parameters)
    if names[0] == names[1]:
        message = f'parameter "{names[0]}" stands here twice'
        step.report(Code.DECLARED_TWICE, message, written.parameters[1].span)
        return None
    found: dict[str, list[Aggregate | None]] = {name: [] for name in names}
    body = cast("ast.Expr", _replaced(written.body, step, element, found))
    if any(each is None for several in found.values() for each in several):
        return None
    before, after = (tuple(cast("list[Aggregate]", several)) for several in found.values())
    totals = [Var(name, _totals(each)) for name, each in zip(("before", "after"), (before, after), strict=True)]
    values: dict[str, Expr | None] = {
        _place(name, index): Get(total, each.name, each.type)
        for name, total, several in zip(names, totals, (before, after), strict=True)
        for index, each in enumerate(several)
    }
    hidden = frozenset(names) | step.unit.scope.collections
    scope = Scope(values, step.unit.scope.parameters, hidden)
    test = condition(body, scope, step.context, '"until" of "iterate"')
    return None if test is None else Until(before, after, Lambda(tuple(totals), test))


def _totals(aggregates: tuple[Aggregate, ...]) -> Struct:
    return Struct(tuple(Field(each.name, each.type) for each in aggregates))


def _place(name: str, index: int) -> str:
    """What stands for an aggregate in the condition; no program can write it."""
    return f"{name}.{index}"


def _replaced(node: object, step: Step, element: Type, found: dict[str, list[Aggregate | None]]) -> object:
    """The tree in which `before.count()` and the like are names, their aggregates added to `found`."""
    match node:
        case ast.Apply(function=ast.Attribute(of=ast.Ref(name=side), name=word), arguments=arguments, span=span) if (
            side in found
        ):
            call = ast.Apply(ast.Ref(word, span), arguments, None, span)
            found[side].append(_aggregate(step, call, element, f"a{len(found[side]) + 1}"))
            return ast.Ref(_place(side, len(found[side]) - 1), span)
        case tuple():
            return tuple(_replaced(each, step, element, found) for each in cast("tuple[object, ...]", node))
        case _ if ast.is_tree(node):
            tree = node
            old = {each.name: getattr(tree, each.name) for each in fields(tree)}
            new = {name: _replaced(value, step, element, found) for name, value in old.items()}
            return replace(tree, **{name: value for name, value in new.items() if value is not old[name]})
        case _:
            return node


def _aggregate(step: Step, call: ast.Apply, element: Type, name: str) -> Aggregate | None:
    """One total; nothing but a count is known of an empty collection, and no record may fail in it."""
    function = _said(call)
    if function is None:
        said = call.function.name if isinstance(call.function, ast.Ref) else ""
        step.report(
            Code.BAD_AGGREGATE,
            f'"{said}" is not an aggregate of a whole collection',
            call.span,
            hint=f"{', '.join(each.value for each in _TOTALS)} are, for example count() and sum(x => ...).",
        )
        return None
    made = aggregate_of(name, call, Aggregated(element, False, step.unit.scope, step.context))
    if made is None:
        return None
    argument = made.argument
    if argument is not None and any(
        isinstance(part, TypedCall) and FUNCTIONS[part.function].failures for part in walk(argument.body)
    ):
        step.report(
            Code.BAD_AGGREGATE,
            'a record may fail in an aggregate of "until"',
            call.span,
            hint="map(...) in the step makes a column of it, where a record that fails becomes a dead letter.",
        )
        return None
    return made if made.function in _NEVER_NULL else replace(made, type=as_nullable(made.type))


def _said(call: ast.Apply) -> AggregateFunction | None:
    """The aggregate of that name that takes records in any order."""
    word = call.function.name if isinstance(call.function, ast.Ref) else ""
    return next((each for each in _TOTALS if each.value == word), None)
