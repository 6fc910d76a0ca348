"""Calls between units: what a published call carries, checked against the called unit, and circles of calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ghcm.codes import Code
from ghcm.errors import suggest
from ghcm.expr import Expr
from ghcm.language import ast
from ghcm.lowering.aggregates import Aggregated, aggregate_of, is_aggregate
from ghcm.lowering.arguments import misspelt
from ghcm.lowering.context import Context, Scope
from ghcm.lowering.drafting import Signature, Step
from ghcm.lowering.expressions import typed
from ghcm.lowering.records import fits
from ghcm.reducers import Aggregate
from ghcm.source import Span
from ghcm.spg.ops import CallTemplate
from ghcm.types import Collection, Struct, Type, strip
from ghcm.types.unification import accepts


def call_of(step: Step, collection: Collection) -> CallTemplate | None:
    """The instruction that a policy sends, over the records of a collection; None after a report."""
    written = step.given.expr("call")
    signatures = step.unit.around.signatures
    match written:
        case ast.Apply(function=ast.Ref(name=name)) if name in signatures:
            signature = signatures[name]
        case ast.Apply(function=ast.Ref(name=name, span=span)):
            kind = step.context.kinds.get(name, "")
            hint = f'"{name}" is a {kind}.' if kind else suggest(name, signatures)
            step.report(Code.NOT_CALLABLE, f'there is no unit "{name}" to call', span, hint=hint)
            return None
        case other:
            step.given.wrong("call", "a call such as unit(parameter = ...)", None if other is None else other.span)
            return None
    if not signature.responsive:
        step.report(
            Code.NOT_CALLABLE,
            f'unit "{name}" waits for no calls',
            written.function.span,
            hint='A unit that can be called is declared "responsive".',
        )
        return None
    step.unit.around.calls(step.unit.name, name, written.function.span)
    given = _given(step, name, signature, written)
    arguments: list[tuple[str, Aggregate | Expr]] = []
    for parameter, argument in given.items():
        made = _argument(step, parameter, argument, signature.parameters[parameter], collection)
        if made is not None:
            arguments.append((parameter, made))
    return CallTemplate(name, tuple(arguments)) if len(arguments) == len(given) else None


def check_cycles(calls: Iterable[tuple[str, str, Span | None]], context: Context) -> None:
    """Report every circle of calls once, at the call that closes it."""
    edges: dict[str, dict[str, Span | None]] = {}
    for caller, called, span in calls:
        edges.setdefault(caller, {}).setdefault(called, span)
    seen: set[str] = set()
    for start in edges:
        _walk(start, [], edges, seen, context)


def _walk(
    unit: str, path: list[str], edges: Mapping[str, Mapping[str, Span | None]], seen: set[str], context: Context
) -> None:
    if unit in path:
        circle = [*path[path.index(unit) :], unit]
        context.report(
            Code.CYCLE,
            "units call each other in a circle",
            edges[path[-1]][unit],
            detail=f"It goes round: {' -> '.join(circle)}.",
            hint="Such calls never end; the unit that starts the work can call each of them.",
        )
        return
    if unit in seen:
        return
    for called in edges.get(unit, {}):
        _walk(called, [*path, unit], edges, seen, context)
    seen.add(unit)


def _given(step: Step, name: str, signature: Signature, written: ast.Apply) -> dict[str, ast.Expr]:
    """The arguments by parameter, in the order of the parameters; wrong ones reported and left out."""
    free = list(signature.parameters)
    given: dict[str, ast.Expr] = {}
    for argument in written.arguments:
        place = argument.span or argument.value.span
        parameter = argument.name or (free[0] if free else "")
        if parameter not in signature.parameters:
            takes = ", ".join(signature.parameters)
            message = (
                f'unit "{name}" has no parameter "{parameter}"' if parameter else f'unit "{name}" takes fewer arguments'
            )
            detail = f"It takes {takes}." if takes else "It takes none."
            hint = suggest(parameter, signature.parameters)
            step.report(Code.CALL_ARGUMENT_UNKNOWN, message, place, detail=detail, hint=hint)
        elif parameter in given:
            step.report(Code.CALL_ARGUMENT_UNKNOWN, f'parameter "{parameter}" is given twice', place)
        else:
            given[parameter] = argument.value
            free.remove(parameter)
    missing = [each for each in signature.parameters if each not in given and each not in signature.optional]
    reported = misspelt([each.name or "" for each in written.arguments], missing)
    missing = [each for each in missing if each not in reported]
    if missing:
        names = ", ".join(f'"{each}"' for each in missing)
        step.report(Code.CALL_ARGUMENT_MISSING, f'the call of "{name}" lacks {names}', written.span)
    return {parameter: given[parameter] for parameter in signature.parameters if parameter in given}


def _argument(
    step: Step, parameter: str, written: ast.Expr, wanted: Type | None, collection: Collection
) -> Aggregate | Expr | None:
    what = f'parameter "{parameter}"'
    if is_aggregate(written):
        over = Aggregated(collection.element, collection.timed, step.unit.scope, step.context)
        aggregate = aggregate_of(parameter, written, over)
        if aggregate is None or wanted is None:
            return None
        if accepts(wanted, aggregate.type):
            return aggregate
        step.report(
            Code.CALL_ARGUMENT_TYPE,
            f'{what} is "{wanted}", but this is "{aggregate.type}"',
            written.span,
            hint="filter(...) or ?? takes the nulls out." if accepts(wanted, strip(aggregate.type)) else "",
        )
        return None
    column = _column(written, step, collection.element)
    if column:
        step.report(
            Code.BAD_AGGREGATE,
            f'"{column}" has a value in each record, and the call carries one',
            written.span,
            hint=f"An aggregate makes one of them, for example max({column}).",
        )
        return None
    scope = Scope(parameters=step.unit.scope.parameters, collections=step.unit.scope.collections)
    made = typed(written, scope, step.context)
    if made is None or wanted is None:
        return None
    return fits(made, wanted, what, written.span, step.context, Code.CALL_ARGUMENT_TYPE)


def _column(written: ast.Expr, step: Step, element: Type) -> str:
    """The column that an argument means, written `bytes`, or `f.bytes` as in a lambda; "" if it means none."""
    names = element.names if isinstance(element, Struct) else ()
    match written:
        case ast.Ref(name=name) if name not in step.unit.scope.parameters:
            column = name
        case ast.Attribute(of=ast.Ref(name=of), name=name) if of not in step.unit.scope.parameters:
            column = name
        case ast.Lambda(body=ast.Attribute(of=ast.Ref(), name=name)):
            column = name
        case ast.Lambda(body=ast.Index(of=ast.Ref(), index=ast.Literal(value=str(name)))):
            column = name
        case _:
            column = ""
    return column if column in names else ""
