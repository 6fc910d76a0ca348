"""Comparison and three-valued logic as Python."""

from __future__ import annotations

import math
from collections.abc import Callable

from ghcm.codegen.expressions import constant, plainly_ordered
from ghcm.codegen.native.rows.functions.emitting import Emit, Handled, Scope, helper, perhaps_null
from ghcm.codegen.native.rows.text import AND, BITOR, COMPARE, IF, NOT, OR, Code
from ghcm.expr import Call, Literal
from ghcm.types import Float, Type, is_nullable, strip
from ghcm.types.unification import unify


def _comparison(operator: str, floating: Callable[[Code, Code], Code]) -> Emit:
    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        kind = _joint_kind(expr)
        left, right = codes
        if isinstance(kind, Float) and not _is_number(expr, operator):
            return floating(left, right)
        if not plainly_ordered(kind) and not isinstance(kind, Float):
            order = scope.module.order(kind)
            left, right = Code(f"{order}({left.inner})"), Code(f"{order}({right.inner})")
        return Code(f"{left.at(BITOR)} {operator} {right.at(BITOR)}", COMPARE)

    return emit


def _is_number(expr: Call, operator: str) -> bool:
    """Whether a comparison of floats has a constant on a side where NaN on the other gives Python's False and the
    language's False alike.
    """
    left, right = (constant(each) for each in expr.arguments)
    on_right = isinstance(right, float) and not math.isnan(right) and operator in ("==", "<", "<=", "!=")
    on_left = isinstance(left, float) and not math.isnan(left) and operator in ("==", ">", ">=", "!=")
    return on_right or on_left


def _extreme(plain: str, floating: str) -> Emit:
    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        kind = _joint_kind(expr)
        if isinstance(kind, Float):
            return helper(floating, *codes)
        key = "" if plainly_ordered(kind) else f", key={scope.module.order(kind)}"
        return Code(f"{plain}({codes[0].inner}, {codes[1].inner}{key})")

    return emit


def _joint_kind(expr: Call) -> Type:
    """The type that holds what the first two arguments may be, without its `?`: items that may be null in one of two
    lists have to be ordered by what nulls are.
    """
    left, right = (strip(each.type) for each in expr.arguments[:2])
    joint = unify(left, right)
    assert joint is not None, f"{left} and {right} are compared"
    return joint


def _negated(code: Code) -> Code:
    return Code(f"not {code.at(NOT)}", NOT)


EMITTERS: dict[str, Emit] = {
    "eq": _comparison("==", lambda left, right: helper("numbers.equal", left, right)),
    "ne": _comparison("!=", lambda left, right: _negated(helper("numbers.equal", left, right))),
    "lt": _comparison("<", lambda left, right: helper("numbers.less", left, right)),
    "le": _comparison("<=", lambda left, right: helper("numbers.less_or_equal", left, right)),
    "gt": _comparison(">", lambda left, right: helper("numbers.greater", left, right)),
    "ge": _comparison(">=", lambda left, right: helper("numbers.greater_or_equal", left, right)),
    "least": _extreme("min", "numbers.least"),
    "greatest": _extreme("max", "numbers.greatest"),
}
"""What propagates nulls."""

# --- three-valued logic ----------------------------------------------------------------------------------------------


def _and(scope: Scope, expr: Call) -> Code:
    left, right = expr.arguments
    if not is_nullable(left.type):
        return Code(f"{scope.value(left).at(AND)} and {scope.value(right).at(AND)}", AND)
    (first, one), (second, two) = scope.temporary(scope.value(left)), scope.temporary(scope.value(right))
    return Code(f"False if {first} is False or {second} is False else {one} and {two}", IF)


def _or(scope: Scope, expr: Call) -> Code:
    left, right = expr.arguments
    if not is_nullable(left.type):
        return Code(f"{scope.value(left).at(OR)} or {scope.value(right).at(OR)}", OR)
    (first, one), (second, two) = scope.temporary(scope.value(left)), scope.temporary(scope.value(right))
    return Code(f"True if {first} or {second} else None if {one} is None else {two}", IF)


def _is_null(scope: Scope, expr: Call) -> Code:
    (argument,) = expr.arguments
    if isinstance(argument, Literal):
        return Code(repr(argument.value is None))
    return Code(f"{scope.temporary(scope.value(argument), 'found')[0]} is None", COMPARE)


def _is_not_null(scope: Scope, expr: Call) -> Code:
    (argument,) = expr.arguments
    if isinstance(argument, Literal):
        return Code(repr(argument.value is not None))
    return Code(f"{scope.temporary(scope.value(argument), 'found')[0]} is not None", COMPARE)


def _coalesce(scope: Scope, expr: Call) -> Code:
    *earlier, last = expr.arguments
    code = scope.value(last)
    for each in reversed(earlier):
        if not perhaps_null(each):
            code = scope.value(each)
            continue
        first, again = scope.temporary(scope.value(each))
        code = Code(f"{again} if {first} is not None else {code.at(IF)}", IF)
    return code


HANDLED: dict[str, Handled] = {
    "and": _and,
    "or": _or,
    "is_null": _is_null,
    "is_not_null": _is_not_null,
    "coalesce": _coalesce,
    "known": lambda scope, expr: scope.value(expr.arguments[0]),
}
"""What minds nulls itself."""
