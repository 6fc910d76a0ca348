"""Comparison as Polars."""

from __future__ import annotations

from ghcm.codegen.native.column_functions.emitting import (
    Emit,
    Refusal,
    Scope,
    arguments_of,
    helper,
    infix,
    masks_of,
    refused_kinds,
    with_masks,
)
from ghcm.codegen.native.column_text import ATOM, COMPARE, Column
from ghcm.expr import Call
from ghcm.types import List, Null, Struct


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


def _ensure(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    return with_masks(found, found.fails, helper("comparison.ensure_fails", found))


EMITTERS: dict[str, Emit] = {
    "eq": _comparison("=="),
    "ne": _comparison("!="),
    "lt": _comparison("<"),
    "le": _comparison("<="),
    "gt": _comparison(">"),
    "ge": _comparison(">="),
    "least": _extreme("comparison.least"),
    "greatest": _extreme("comparison.greatest"),
    "ensure": _ensure,
}

_NESTED = "Polars orders no structs, and takes nulls inside structs and lists for unknown"
REFUSALS: dict[str, Refusal] = {
    name: refused_kinds({Struct: _NESTED, List: _NESTED, Null: "there is nothing to compare"}) for name in EMITTERS
}
