"""Comparison as Python."""

from __future__ import annotations

import math
from collections.abc import Callable

from ghcm.codegen.expressions import constant, plainly_ordered
from ghcm.codegen.native.row_functions.emitting import Emit, Scope, call_of, helper, joint_kind, negated
from ghcm.codegen.native.row_text import BITOR, COMPARE, Code
from ghcm.expr import Call
from ghcm.types import Float


def _comparison(operator: str, floating: Callable[[Code, Code], Code]) -> Emit:
    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        kind = joint_kind(expr)
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
        kind = joint_kind(expr)
        if isinstance(kind, Float):
            return helper(floating, *codes)
        key = "" if plainly_ordered(kind) else f", key={scope.module.order(kind)}"
        return Code(f"{plain}({codes[0].inner}, {codes[1].inner}{key})")

    return emit


EMITTERS: dict[str, Emit] = {
    "eq": _comparison("==", lambda left, right: helper("comparison.equal", left, right)),
    "ne": _comparison("!=", lambda left, right: negated(helper("comparison.equal", left, right))),
    "lt": _comparison("<", lambda left, right: helper("comparison.less", left, right)),
    "le": _comparison("<=", lambda left, right: helper("comparison.less_or_equal", left, right)),
    "gt": _comparison(">", lambda left, right: helper("comparison.greater", left, right)),
    "ge": _comparison(">=", lambda left, right: helper("comparison.greater_or_equal", left, right)),
    "least": _extreme("min", "comparison.least"),
    "greatest": _extreme("max", "comparison.greatest"),
    "ensure": call_of("comparison.ensure"),
}
