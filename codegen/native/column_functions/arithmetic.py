"""Arithmetic as Polars."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.column_functions.emitting import (
    Emit,
    Refusal,
    Scope,
    arguments_of,
    as_kind,
    counted,
    digits_of,
    helper,
    infix,
    is_zero,
    kind_of,
    masks_of,
    number,
    refused_kinds,
    with_masks,
)
from ghcm.codegen.native.column_text import ATOM, PRODUCT, SUM, UNARY, Column
from ghcm.expr import Call
from ghcm.types import Decimal, Duration, Float, List, String, strip


def _arithmetic(operator: str, level: int, fails: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        found = arguments_of(scope, expr)
        if isinstance(kind_of(expr), List):
            return with_masks(helper("lists.joined", *found), masks_of(found))
        if isinstance(kind_of(expr), Decimal):
            scales = tuple(digits_of(each.type)[1] for each in expr.arguments)
            exact = fails.replace(".", ".exact_").removesuffix("_fails")
            return with_masks(helper(exact, *found, *number(scales, *digits_of(expr.type))), masks_of(found))
        if isinstance(kind_of(expr), Float | String):
            return with_masks(infix(operator, level, *found), masks_of(found))
        counts = [counted(column, strip(each.type)) for column, each in zip(found, expr.arguments, strict=True)]
        value = as_kind(strip(expr.type), infix(operator, level, *counts))
        return with_masks(value, masks_of(found), helper(fails, *counts))

    return emit


def _divide(scope: Scope, expr: Call) -> Column:
    found = arguments_of(scope, expr)
    zero = None if constant(expr.arguments[1]) else is_zero(found[1])
    if isinstance(kind_of(expr), Duration):
        found = [Column(f"columns.micros({each.text}).cast(pl.Float64)", fails=each.fails) for each in found]
        zero = None if zero is None else is_zero(found[1])
    return with_masks(helper("arithmetic.divided", *found), masks_of(found), zero)


def _floordiv(scope: Scope, expr: Call) -> Column:
    found = arguments_of(scope, expr)
    counts = [counted(column, strip(each.type)) for column, each in zip(found, expr.arguments, strict=True)]
    safe = constant(expr.arguments[1]) not in (None, 0, -1)
    return with_masks(
        infix("//", PRODUCT, *counts), masks_of(found), None if safe else helper("arithmetic.floordiv_fails", *counts)
    )


def _modulo(scope: Scope, expr: Call) -> Column:
    found = arguments_of(scope, expr)
    zero = None if constant(expr.arguments[1]) else is_zero(found[1])
    return with_masks(infix("%", PRODUCT, *found), masks_of(found), zero)


def _negate(scope: Scope, expr: Call) -> Column:
    (found,) = arguments_of(scope, expr)
    if isinstance(kind_of(expr), Float):
        return with_masks(Column(f"-{found.at(UNARY)}", UNARY), found.fails)
    if isinstance(kind_of(expr), Decimal):
        return with_masks(helper("arithmetic.exact_negate", found, *number(*digits_of(expr.type))), found.fails)
    count = counted(found, kind_of(expr))
    value = as_kind(strip(expr.type), Column(f"-{count.at(UNARY)}", UNARY))
    return with_masks(value, found.fails, helper("arithmetic.absolute_fails", count))


def _absolute(scope: Scope, expr: Call) -> Column:
    (found,) = arguments_of(scope, expr)
    if isinstance(kind_of(expr), Float):
        return with_masks(Column(f"{found.at(ATOM)}.abs()"), found.fails)
    if isinstance(kind_of(expr), Decimal):
        return with_masks(helper("arithmetic.exact_absolute", found, *number(*digits_of(expr.type))), found.fails)
    count = counted(found, kind_of(expr))
    return with_masks(
        as_kind(strip(expr.type), Column(f"{count.at(ATOM)}.abs()")),
        found.fails,
        helper("arithmetic.absolute_fails", count),
    )


def _round_half_up(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    precision, scale = digits_of(expr.type)
    dropped = digits_of(expr.arguments[0].type)[1] - scale
    return with_masks(helper("arithmetic.round_half_up", found, *number(dropped, precision, scale)), found.fails)


EMITTERS: dict[str, Emit] = {
    "add": _arithmetic("+", SUM, "arithmetic.add_fails"),
    "sub": _arithmetic("-", SUM, "arithmetic.subtract_fails"),
    "mul": _arithmetic("*", PRODUCT, "arithmetic.multiply_fails"),
    "div": _divide,
    "floordiv": _floordiv,
    "mod": _modulo,
    "neg": _negate,
    "abs": _absolute,
    "round_half_up": _round_half_up,
}

REFUSALS: dict[str, Refusal] = {
    "floordiv": refused_kinds(
        {Float: "Polars rounds the quotient of floats where Python corrects it by the remainder"}
    ),
    "mod": refused_kinds({Float: "Polars computes the remainder of floats from a rounded quotient"}),
}
