"""Three-valued logic and nulls as Polars."""

from __future__ import annotations

from ghcm.codegen.native.column_functions.emitting import Emit, Scope, arguments_of, method, same
from ghcm.codegen.native.column_text import AND, ATOM, OR, UNARY, Column, either, where
from ghcm.expr import Call
from ghcm.types import is_nullable


def _and(scope: Scope, expr: Call) -> Column:
    left, right = arguments_of(scope, expr)
    undecided = left.at(AND) if not is_nullable(expr.arguments[0].type) else f"{left.at(ATOM)}.fill_null(True)"
    return Column(f"{left.at(AND)} & {right.at(AND + 1)}", AND, either(left.fails, where(undecided, right.fails)))


def _or(scope: Scope, expr: Call) -> Column:
    left, right = arguments_of(scope, expr)
    undecided = left.at(ATOM) if not is_nullable(expr.arguments[0].type) else f"{left.at(ATOM)}.fill_null(False)"
    return Column(f"{left.at(OR)} | {right.at(OR + 1)}", OR, either(left.fails, where(f"~{undecided}", right.fails)))


def _not(scope: Scope, expr: Call) -> Column:
    (found,) = arguments_of(scope, expr)
    return Column(f"~{found.at(UNARY)}", UNARY, found.fails)


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
    "and": _and,
    "or": _or,
    "not": _not,
    "is_null": method(".is_null()"),
    "is_not_null": method(".is_not_null()"),
    "coalesce": _coalesce,
    "known": same,
}
