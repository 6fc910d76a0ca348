"""What no text of the table can say of strings, lists, addresses and time as Polars, and what of it is refused."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.columns.functions.emitting import (
    Emit,
    Refusal,
    Scope,
    arguments_of,
    counted,
    digits_of,
    helper,
    kind_of,
    masks_of,
    number,
    with_masks,
    zone,
)
from ghcm.codegen.native.columns.text import ATOM, COMPARE, OR, Column, bare_text, dtype_text
from ghcm.codegen.native.patterns import may_be_empty
from ghcm.codegen.native.rows.text import quoted
from ghcm.expr import Call
from ghcm.functions.comparison import NESTED
from ghcm.types import (
    Bool,
    Date,
    Decimal,
    Enumeration,
    Float,
    Int,
    List,
    Null,
    String,
    Struct,
    Type,
    is_nullable,
    strip,
)
from ghcm.values.texts import parse_subnet
from ghcm.values.timestamps import DATE_UNITS


def _contains(scope: Scope, expr: Call) -> Column:
    kind = kind_of(expr)
    if not isinstance(kind, List):
        first, second = found = arguments_of(scope, expr)
        return Column(f"{first.at(ATOM)}.str.contains({second.text}, literal=True)", fails=masks_of(found))
    first, second = found = arguments_of(scope, expr)
    text = f"{first.at(ATOM)}.list.contains({second.text})"
    if is_nullable(expr.arguments[1].type):
        text = f"pl.when({second.at(ATOM)}.is_not_null()).then({text})"
    return Column(text, fails=masks_of(found))


def _replace(scope: Scope, expr: Call) -> Column:
    old, new = (constant(each) for each in expr.arguments[1:])
    if not isinstance(old, str) or not isinstance(new, str):
        several = arguments_of(scope, expr)
        return with_masks(helper("texts.replace", *several), masks_of(several))
    found = scope.value(expr.arguments[0])
    if not old:
        return found
    return Column(
        f"{found.at(ATOM)}.str.replace_all({bare_text(old)}, {bare_text(new)}, literal=True)", fails=found.fails
    )


def _substring(scope: Scope, expr: Call) -> Column:
    text, start, count = found = arguments_of(scope, expr)
    limits = [isinstance(value := constant(each), int) and value >= 0 for each in expr.arguments[1:]]
    masks = [
        None if safe else Column(f"{column.at(OR)} < 0", COMPARE)
        for safe, column in zip(limits, (start, count), strict=True)
    ]
    return with_masks(helper("texts.substring", text, start, count), masks_of(found), *masks)


def _join(scope: Scope, expr: Call) -> Column:
    texts, between = found = arguments_of(scope, expr)
    if constant(expr.arguments[1]) is None:
        return with_masks(helper("texts.join", *found), masks_of(found))
    return Column(f"{texts.at(ATOM)}.list.join({between.bare})", fails=masks_of(found))


def _to_enum(scope: Scope, expr: Call) -> Column:
    found, enum = scope.value(expr.arguments[0]), strip(expr.type)
    assert isinstance(enum, Enumeration)
    fails = helper("numbers.to_enum_fails", found, Column(f"[{', '.join(map(quoted, enum.values))}]"))
    return with_masks(found, found.fails, fails)


# --- lists -----------------------------------------------------------------------------------------------------------


def _total(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    item = _item_of(expr)
    if isinstance(item, Float):
        return with_masks(helper("collections.float_sum", found), found.fails)
    if isinstance(item, Decimal):
        return with_masks(helper("collections.exact_sum", found, *number(*digits_of(expr.type))), found.fails)
    total = Column(f"column_collections.whole_sum({found.text}, {dtype_text(strip(expr.type))})")
    return with_masks(total, found.fails, helper("collections.sum_fails", found))


def _item_of(expr: Call) -> Type:
    kind = kind_of(expr)
    assert isinstance(kind, List)
    return strip(kind.item)


def _mean(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    name = "float_mean" if isinstance(_item_of(expr), Float) else "whole_mean"
    return with_masks(helper(f"collections.{name}", found), found.fails)


# --- addresses and time ----------------------------------------------------------------------------------------------


def _partial(name: str, scope: Scope, expr: Call) -> Column:
    found = arguments_of(scope, expr)
    return with_masks(helper(name, *found), masks_of(found), helper(f"{name}_fails", *found))


def _in_subnet(scope: Scope, expr: Call) -> Column:
    text = constant(expr.arguments[1])
    if not isinstance(text, str) or parse_subnet(text) is None:
        return _partial("network.in_any_subnet", scope, expr)
    found = scope.value(expr.arguments[0])
    value = helper("network.in_subnet", found, Column(f'"{text}"'))
    return with_masks(value, found.fails, helper("network.no_address", found))


def _subnet_of(scope: Scope, expr: Call) -> Column:
    prefix = constant(expr.arguments[1])
    if not isinstance(prefix, int) or not 0 <= prefix <= 128:
        return _partial("network.any_subnet_of", scope, expr)
    found = scope.value(expr.arguments[0])
    written = Column(str(prefix))
    value = helper("network.subnet_of", found, written)
    return with_masks(value, found.fails, helper("network.subnet_of_fails", found, written))


def _truncate_to(scope: Scope, expr: Call) -> Column:
    found, unit = scope.value(expr.arguments[0]), constant(expr.arguments[1])
    assert isinstance(unit, str), "the lowering takes constants only"
    if isinstance(kind_of(expr), Date):
        value = helper("time.date_start", found, Column(bare_text(unit)))
        return with_masks(value, found.fails, helper("time.date_outside", found))
    name = "day_start" if unit in DATE_UNITS else "clock_start"
    given = f"{counted(found, kind_of(expr)).text}, {bare_text(unit)}{zone(expr, 2)}"
    value = Column(f"columns.timestamp(column_time.{name}({given}))")
    return with_masks(value, found.fails, Column(f"column_time.{name}_fails({given})"))


EMITTERS: dict[str, Emit] = {
    "contains": _contains,
    "replace": _replace,
    "substring": _substring,
    "join": _join,
    "to_enum": _to_enum,
    "list_sum": _total,
    "list_mean": _mean,
    "in_subnet": _in_subnet,
    "subnet_of": _subnet_of,
    "truncate_to": _truncate_to,
}


# --- refusals --------------------------------------------------------------------------------------------------------


def _refuse_items(call: Call) -> str:
    kind = kind_of(call)
    plain = not isinstance(kind, List) or isinstance(kind.item, Bool | Int | String)
    return "" if plain else "contains: Polars compares floats, nulls and nested values inside lists in its own way"


def _refuse_empty(call: Call) -> str:
    pattern = constant(call.arguments[1])
    empty = isinstance(pattern, str) and may_be_empty(pattern)
    return (
        f"{call.function}: the pattern matches the empty text, and Rust leaves out some empty matches" if empty else ""
    )


def _refused(call: Call) -> str:
    item = _item_of(call)
    if call.function == "list_sort_by" and isinstance(item, Struct):
        item = strip(item.fields[0].type)
    return f"{call.function} of {item}: {NESTED.reason}" if isinstance(item, Struct | List | Null) else ""


def _exponents(call: Call) -> str:
    kind = kind_of(call)
    if isinstance(kind, Decimal) and kind.scale > _EXACT_POWERS:
        return f"to_float of {kind}: no float is so great a power of ten"
    return ""


_EXACT_POWERS = 22
"""So great a power of ten is a float."""

REFUSALS: dict[str, Refusal] = {
    "contains": _refuse_items,
    "to_float": _exponents,
    **dict.fromkeys(("extract_all", "replace_pattern", "count_matches"), _refuse_empty),
    **dict.fromkeys(("list_min", "list_max", "list_sort", "list_sort_by", "list_distinct"), _refused),
}
