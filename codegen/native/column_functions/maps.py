"""Maps as Polars, which holds them as lists of keys and values."""

from __future__ import annotations

from ghcm.codegen.native.column_functions.emitting import Emit, Scope, arguments_of, helper, masks_of, with_masks
from ghcm.codegen.native.column_text import Column
from ghcm.codegen.native.column_types import dtype_text
from ghcm.expr import Call


def _listed(name: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        found = scope.value(expr.arguments[0])
        return with_masks(helper(f"maps.{name}", found, Column(dtype_text(expr.type))), found.fails)

    return emit


def _has_key(scope: Scope, expr: Call) -> Column:
    found = arguments_of(scope, expr)
    return with_masks(helper("maps.has_key", *found), masks_of(found))


def value(scope: Scope, expr: Call) -> Column:
    """The value of a key."""
    found = arguments_of(scope, expr)
    return with_masks(helper("maps.value", *found, Column(dtype_text(expr.type))), masks_of(found))


def _at(scope: Scope, expr: Call) -> Column:
    found = arguments_of(scope, expr)
    text = helper("maps.value", *found, Column(dtype_text(expr.type)))
    return with_masks(text, masks_of(found), helper("maps.lacks_key", *found))


EMITTERS: dict[str, Emit] = {
    "map_at": _at,
    "has_key": _has_key,
    **{name: _listed(name) for name in ("keys", "values", "entries", "from_entries")},
}
