"""Orders: `by = r => (desc(r.revenue), r.day)` as one value and one direction, which is all that engines sort by.

Parts of an order that go against the others are turned around: what is greater by a part is less by its turned form.
Numbers and times can be turned, texts cannot, so that all texts of an order go in one direction.
"""

from dataclasses import dataclass, replace

from ghcm.codes import Code
from ghcm.expr import Expr, Lambda, Literal, MakeStruct
from ghcm.functions import comparable
from ghcm.language import ast
from ghcm.lowering.drafts import Step
from ghcm.lowering.expressions.functions import call_of
from ghcm.signatures import OF_MAPS
from ghcm.source import Span
from ghcm.types import Bool, Decimal, Duration, Float, Int, Timestamp, Type, is_nullable, strip, tuple_of

_WORDS = {"asc": False, "desc": True}


@dataclass(frozen=True, slots=True)
class _Part:
    """One part of an order, and whether the greatest comes first by it."""

    value: Expr
    descending: bool
    span: Span | None


def order_of(step: Step, element: Type, *, descending: bool) -> tuple[Lambda, bool]:
    """By what records are ordered, and whether the greatest comes first; `descending` is said of parts without `asc` or
    `desc`.
    """
    written = step.given.required("by")
    said = _directions(written, descending)
    bare = written
    if said is not None:
        bare = replace(written, body=said[0]) if isinstance(written, ast.Lambda) else said[0]
    function = step.function("by", element, written=bare)
    for type_ in (function.body.type, element):
        if not comparable(type_):
            raise step.report(Code.NOT_COMPARABLE, f'"{type_}" has no order', hint=OF_MAPS)
    if said is None:
        return function, descending
    directions, body = said[1], function.body
    if len(directions) == 1:
        return function, directions[0][0]
    assert isinstance(body, MakeStruct), "the order is written as a tuple"
    parts = [_Part(value, *direction) for value, direction in zip(body.values, directions, strict=True)]
    return _one_way(step, function, parts)


def _directions(written: ast.Expr, default: bool) -> tuple[ast.Expr, list[tuple[bool, Span | None]]] | None:
    """The body of an order without `asc` and `desc`, and what they said of its parts; None where neither stands."""
    body = written.body if isinstance(written, ast.Lambda) else written
    items = body.items if isinstance(body, ast.TupleExpr) else (body,)
    said = [_direction(each, default) for each in items]
    if all(value is item for (value, _, _), item in zip(said, items, strict=True)):
        return None
    values = tuple(value for value, _, _ in said)
    bare = replace(body, items=values) if isinstance(body, ast.TupleExpr) else values[0]
    return bare, [(descending, span) for _, descending, span in said]


def _direction(written: ast.Expr, default: bool) -> tuple[ast.Expr, bool, Span | None]:
    match written:
        case ast.Apply(function=ast.Ref(name=name), arguments=(ast.Argument(value=value, name=None),)) if (
            name in _WORDS
        ):
            return value, _WORDS[name], written.span
        case ast.Apply(function=ast.Attribute(of=of, name=name), arguments=()) if name in _WORDS:
            return of, _WORDS[name], written.span
        case _:
            return written, default, written.span


def _one_way(step: Step, function: Lambda, parts: list[_Part]) -> tuple[Lambda, bool]:
    """All parts in the direction of those that cannot be turned, or of the first."""
    fixed = [part for part in parts if not _can_turn(part.value.type)]
    way = (fixed or parts)[0].descending
    for part in fixed:
        if part.descending != way:
            message = f'"{strip(part.value.type)}" cannot be ordered against other parts that are no numbers'
            hint = "All parts that are neither numbers nor times go in one direction."
            raise step.report(Code.BAD_ORDER, message, part.span, hint=hint)
    values = [each for part in parts for each in ((part.value,) if part.descending == way else _turned(part.value))]
    body = MakeStruct(tuple(values), tuple_of(*(each.type for each in values)))
    return Lambda(function.parameters, body), way


def _can_turn(type_: Type) -> bool:
    return isinstance(strip(type_), Int | Float | Decimal | Timestamp | Duration | Bool)


def _turned(value: Expr) -> tuple[Expr, ...]:
    """Values that are ordered the other way round: NaN, the greatest, becomes the least, and null the greatest."""
    null = (call_of("is_null", value),) if is_nullable(value.type) else ()
    match strip(value.type):
        case Float():
            nan = call_of("eq", value, Literal(float("nan"), Float()))
            return (*null, call_of("not", nan), call_of("neg", value))
        case Decimal():
            return (*null, call_of("neg", value))
        case Bool():
            return (*null, call_of("not", value))
        case Timestamp() | Duration():
            return (*null, _less_than_none(call_of("to_micros", value)))
        case _:  # whole numbers
            return (*null, _less_than_none(value))


def _less_than_none(number: Expr) -> Expr:
    """-1 - n, which no whole number of 64 bits is too large for."""
    return call_of("sub", Literal(-1, Int()), number)
