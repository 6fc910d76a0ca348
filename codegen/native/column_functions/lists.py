"""Lists as Polars."""

from __future__ import annotations

from ghcm.codegen.native.column_functions import maps
from ghcm.codegen.native.column_functions.emitting import (
    Emit,
    Scope,
    arguments_of,
    helper,
    kind_of,
    masks_of,
    with_masks,
)
from ghcm.codegen.native.column_text import Column
from ghcm.expr import Call
from ghcm.types import Map

__all__ = ["EMITTERS"]


def _item(scope: Scope, expr: Call) -> Column:
    if isinstance(kind_of(expr), Map):
        return maps.value(scope, expr)
    found = arguments_of(scope, expr)
    return with_masks(helper("lists.item", *found), masks_of(found), helper("lists.item_fails", *found))


EMITTERS: dict[str, Emit] = {
    "get": _item,
}
