"""Lists as Polars."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.column_functions import maps
from ghcm.codegen.native.column_functions.emitting import (
    Emit,
    Refusal,
    Scope,
    arguments_of,
    call_of,
    digits_of,
    helper,
    kind_of,
    masks_of,
    number,
    with_masks,
)
from ghcm.codegen.native.column_text import Column
from ghcm.codegen.native.column_types import dtype_text
from ghcm.expr import Call
from ghcm.types import Decimal, Float, List, Map, Null, Struct, Type, strip


def _item(scope: Scope, expr: Call) -> Column:
    if isinstance(kind_of(expr), Map):
        return maps.value(scope, expr)
    found = arguments_of(scope, expr)
    return with_masks(helper("lists.item", *found), masks_of(found), helper("lists.item_fails", *found))


def _total(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    item = _item_of(expr)
    if isinstance(item, Float):
        return with_masks(helper("lists.float_sum", found), found.fails)
    if isinstance(item, Decimal):
        return with_masks(helper("lists.exact_sum", found, *number(*digits_of(expr.type))), found.fails)
    total = Column(f"column_lists.whole_sum({found.text}, {dtype_text(strip(expr.type))})")
    return with_masks(total, found.fails, helper("lists.sum_fails", found))


def _item_of(expr: Call) -> Type:
    kind = kind_of(expr)
    assert isinstance(kind, List)
    return strip(kind.item)


def _sorted(name: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        found, descending = scope.value(expr.arguments[0]), constant(expr.arguments[1])
        return with_masks(Column(f"column_lists.{name}({found.text}, descending={descending!r})"), found.fails)

    return emit


EMITTERS: dict[str, Emit] = {
    "get": _item,
    "list_sum": _total,
    "list_mean": lambda scope, expr: call_of(
        "lists.float_mean" if isinstance(_item_of(expr), Float) else "lists.whole_mean"
    )(scope, expr),
    "list_min": call_of("lists.least"),
    "list_max": call_of("lists.greatest"),
    "list_sort": _sorted("sort"),
    "list_sort_by": _sorted("sort_by"),
    "list_distinct": call_of("lists.distinct"),
}

_NESTED = "Polars orders no structs, and takes nulls inside structs and lists for unknown"


def _refused(call: Call) -> str:
    item = _item_of(call)
    if call.function == "list_sort_by" and isinstance(item, Struct):
        item = strip(item.fields[0].type)
    return f"{call.function} of {item}: {_NESTED}" if isinstance(item, Struct | List | Null) else ""


REFUSALS: dict[str, Refusal] = dict.fromkeys(
    ("list_min", "list_max", "list_sort", "list_sort_by", "list_distinct"), _refused
)
