"""Time as Polars."""

from __future__ import annotations

from ghcm.codegen.native.column_functions.emitting import (
    Emit,
    Scope,
    arguments_of,
    as_kind,
    counted,
    helper,
    kind_of,
    masks_of,
    with_masks,
)
from ghcm.codegen.native.column_text import Column
from ghcm.expr import Call
from ghcm.types import Timestamp, strip

__all__ = ["EMITTERS"]


def _truncate(scope: Scope, expr: Call) -> Column:
    found = arguments_of(scope, expr)
    counts = [counted(column, strip(each.type)) for column, each in zip(found, expr.arguments, strict=True)]
    return with_masks(
        as_kind(Timestamp(), helper("time.truncate", *counts)), masks_of(found), helper("time.truncate_fails", *counts)
    )


def _to_micros(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    return with_masks(counted(found, kind_of(expr)), found.fails)


def _from_micros(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    return with_masks(as_kind(Timestamp(), found), found.fails)


EMITTERS: dict[str, Emit] = {
    "truncate": _truncate,
    "to_micros": _to_micros,
    "from_micros": _from_micros,
}
