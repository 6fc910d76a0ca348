"""Arithmetic, comparison and three-valued logic as Polars, where no text of the table can say it."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.columns.functions.emitting import (
    Emit,
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
    with_masks,
)
from ghcm.codegen.native.columns.text import AND, ATOM, COMPARE, OR, PRODUCT, SUM, Column, either, where
from ghcm.expr import Call
from ghcm.types import Decimal, Duration, Float, List, String, is_nullable, strip


def _arithmetic(operator: str, level: int, fails: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        found = arguments_of(scope, expr)
        if isinstance(kind_of(expr), List):
            return with_masks(helper("collections.joined", *found), masks_of(found))
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
    return with_masks(helper("numbers.divided", *found), masks_of(found), zero)


def _floordiv(scope: Scope, expr: Call) -> Column:
    found = arguments_of(scope, expr)
    counts = [counted(column, strip(each.type)) for column, each in zip(found, expr.arguments, strict=True)]
    safe = constant(expr.arguments[1]) not in (None, 0, -1)
    return with_masks(
        infix("//", PRODUCT, *counts), masks_of(found), None if safe else helper("numbers.floordiv_fails", *counts)
    )


def _modulo(scope: Scope, expr: Call) -> Column:
    found = arguments_of(scope, expr)
    zero = None if constant(expr.arguments[1]) else is_zero(found[1])
    return with_masks(infix("%", PRODUCT, *found), masks_of(found), zero)


# --- comparison ------------------------------------------------------------------------------------------------------


def _comparison(operator: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        found = arguments_of(scope, expr)
        left, right = found
        if left.bare is not None and right.bare is None:
            mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
            return with_masks(infix(mirrored, COMPARE + 0, _tight(right), left), masks_of(found))
        return with_masks(infix(operator, COMPARE, _tight(left), _tight(right)), masks_of(found))

    return emit


def _tight(column: Column) -> Column:
    return column if column.level > COMPARE else Column(f"({column.text})", ATOM, column.fails, column.bare)


def _extreme(name: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        found = arguments_of(scope, expr)
        return with_masks(helper(name, *found), masks_of(found))

    return emit


# --- three-valued logic ----------------------------------------------------------------------------------------------


def _and(scope: Scope, expr: Call) -> Column:
    left, right = arguments_of(scope, expr)
    undecided = left.at(AND) if not is_nullable(expr.arguments[0].type) else f"{left.at(ATOM)}.fill_null(True)"
    return Column(f"{left.at(AND)} & {right.at(AND + 1)}", AND, either(left.fails, where(undecided, right.fails)))


def _or(scope: Scope, expr: Call) -> Column:
    left, right = arguments_of(scope, expr)
    undecided = left.at(ATOM) if not is_nullable(expr.arguments[0].type) else f"{left.at(ATOM)}.fill_null(False)"
    return Column(f"{left.at(OR)} | {right.at(OR + 1)}", OR, either(left.fails, where(f"~{undecided}", right.fails)))


def _coalesce(scope: Scope, expr: Call) -> Column:
    texts: list[str] = []
    missing, fails = "", None
    for each in expr.arguments:
        column = scope.value(each)
        texts.append(column.text)
        fails = either(fails, where(missing, column.fails) if missing else column.fails)
        missing = f"{missing} & {column.at(ATOM)}.is_null()" if missing else f"{column.at(ATOM)}.is_null()"
        if not is_nullable(each.type):
            break
    return Column(f"pl.coalesce({', '.join(texts)})", fails=fails)


EMITTERS: dict[str, Emit] = {
    "add": _arithmetic("+", SUM, "numbers.add_fails"),
    "sub": _arithmetic("-", SUM, "numbers.subtract_fails"),
    "mul": _arithmetic("*", PRODUCT, "numbers.multiply_fails"),
    "div": _divide,
    "floordiv": _floordiv,
    "mod": _modulo,
    "eq": _comparison("=="),
    "ne": _comparison("!="),
    "lt": _comparison("<"),
    "le": _comparison("<="),
    "gt": _comparison(">"),
    "ge": _comparison(">="),
    "least": _extreme("numbers.least"),
    "greatest": _extreme("numbers.greatest"),
    "and": _and,
    "or": _or,
    "coalesce": _coalesce,
}
