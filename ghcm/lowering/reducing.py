"""Reducers: proved, claimed, or ordered; anything else would give what the order of arrival gives."""

from __future__ import annotations

from ghcm.codes import Code
from ghcm.expr import Lambda
from ghcm.functions import comparable
from ghcm.language import ast
from ghcm.language.literals import CLAIMS
from ghcm.lowering.conversion import convert
from ghcm.lowering.drafting import Step
from ghcm.reducers import Builtin, Custom, Fields, Reducer, prove
from ghcm.types import Type, is_nullable

_CLAIM = "If order does not matter, say so with @associative @commutative; otherwise say order = v => ... ."
_BOTH = "It takes both claims: @associative @commutative."


def reducer_of(step: Step, value: Type, *, endless: bool) -> Reducer | None:
    """The reducer of `reduce_by_key` over values of that type; `endless`: values of a key never cease to come."""
    function = _function(step, value)
    order = step.function("order", value)
    if order is not None and not _check_order(step, order, endless):
        return None
    if is_nullable(value):
        _report_nullable(step, f'the values are "{value}"')
        return None
    if function is None:
        return None
    proven = prove(function)
    if proven is not None:
        part = _nullable_part(proven)
        if part:
            _report_nullable(step, part)
        return None if part else proven
    claims = _claims(step)
    claimed = set(CLAIMS) <= set(claims)
    if not claimed and step.given.expr("order") is None:
        step.report(
            Code.BAD_REDUCER,
            "this reducer may give another result in another order",
            step.given.span("function"),
            detail="What is proven is a + b of numbers, min, max, and, or, and tuples and records of these.",
            hint=_BOTH if claims else _CLAIM,
        )
        return None
    return Custom(function, claimed, None if claimed else order)


def _function(step: Step, value: Type) -> Lambda | None:
    function = step.function("function", value, value)
    if function is None:
        return None
    body = convert(function.body, value)
    if body is None:
        step.report(
            Code.WRONG_TYPE,
            f'a reducer makes one "{value}" of two, and this one makes "{function.body.type}"',
            step.given.span("function"),
            hint="aggregate_by_key(...) makes a value of another type." if not is_nullable(value) else "",
        )
        return None
    return Lambda(function.parameters, body)


def _claims(step: Step) -> tuple[str, ...]:
    written = step.given.expr("function")
    claims = written.claims if isinstance(written, ast.Lambda) else ()
    for claim in claims:
        if claim not in CLAIMS:
            message = f'"@{claim}" claims nothing that is known'
            step.report(
                Code.BAD_REDUCER, message, step.given.span("function"), hint="Claims are @associative @commutative."
            )
    return claims


def _check_order(step: Step, order: Lambda, endless: bool) -> bool:
    if endless:
        step.report(
            Code.BAD_ORDER,
            "values that come for ever cannot be reduced in order",
            step.given.span("order"),
            hint="window(...) makes groups that end.",
        )
    if not comparable(order.body.type):
        message = f'"{order.body.type}" cannot be ordered'
        step.report(Code.NOT_COMPARABLE, message, step.given.span("order"))
        return False
    return not endless


def _nullable_part(reducer: Reducer) -> str:
    """What may be null in a proven reducer; empty where nothing may."""
    match reducer:
        case Builtin(type=type_):
            return f'one of the values is "{type_}"' if is_nullable(type_) else ""
        case Fields(parts=parts):
            return next((found for part in parts if (found := _nullable_part(part))), "")
        case Custom():
            return ""


def _report_nullable(step: Step, what: str) -> None:
    step.report(
        Code.MAY_BE_NULL,
        "cannot reduce values that may be null",
        step.given.span("function"),
        detail=f"{what[0].upper()}{what[1:]}.",
        hint="filter(...) or ?? takes the nulls out; aggregate_by_key(sum) skips them.",
    )
