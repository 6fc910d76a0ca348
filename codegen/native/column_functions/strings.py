"""Strings as Polars."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.native.column_functions.emitting import (
    Emit,
    Refusal,
    Scope,
    arguments_of,
    call_of,
    helper,
    kind_of,
    masks_of,
    method,
    with_masks,
)
from ghcm.codegen.native.column_text import ATOM, COMPARE, OR, Column, bare_text, either
from ghcm.expr import Call
from ghcm.types import Bool, Int, List, Map, String, is_nullable


def _length(scope: Scope, expr: Call) -> Column:
    return method(
        ".list.len().cast(pl.Int64)" if isinstance(kind_of(expr), List | Map) else ".str.len_chars().cast(pl.Int64)"
    )(scope, expr)


def _case(method: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        (found,) = arguments_of(scope, expr)
        return Column(
            f"{found.at(ATOM)}.str.{method}()", fails=either(found.fails, helper("strings.case_fails", found))
        )

    return emit


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
        return with_masks(helper("strings.replace", *several), masks_of(several))
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
    return with_masks(helper("strings.substring", text, start, count), masks_of(found), *masks)


def _split(scope: Scope, expr: Call) -> Column:
    text, separator = found = arguments_of(scope, expr)
    empty = None if constant(expr.arguments[1]) else Column(f'{separator.at(OR)} == ""', COMPARE)
    if constant(expr.arguments[1]) is None:
        return with_masks(helper("strings.split", text, separator), masks_of(found), empty)
    return Column(f"{text.at(ATOM)}.str.split({separator.text})", fails=either(masks_of(found), empty))


def _join(scope: Scope, expr: Call) -> Column:
    emit = call_of("strings.join") if constant(expr.arguments[1]) is None else method(".list.join({1})")
    return emit(scope, expr)


def _trim(name: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        if len(expr.arguments) == 1:
            return method(f'.str.{name}(" \\t\\n\\r\\x0b\\x0c")')(scope, expr)
        return call_of(f"strings.{name}")(scope, expr)

    return emit


def _is_empty(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    if isinstance(kind_of(expr), List | Map):
        return Column(f"{found.at(ATOM)}.list.len() == 0", COMPARE, found.fails)
    return Column(f'{found.at(OR)} == ""', COMPARE, found.fails)


def _concat(scope: Scope, expr: Call) -> Column:
    found = arguments_of(scope, expr)
    return Column(f"pl.concat_str({', '.join(each.text for each in found)})", fails=masks_of(found))


EMITTERS: dict[str, Emit] = {
    "length": _length,
    "lower": _case("to_lowercase"),
    "upper": _case("to_uppercase"),
    "trim": _trim("strip_chars"),
    "trim_start": _trim("strip_chars_start"),
    "trim_end": _trim("strip_chars_end"),
    "is_empty": _is_empty,
    "starts_with": method(".str.starts_with({1})"),
    "ends_with": method(".str.ends_with({1})"),
    "contains": _contains,
    "replace": _replace,
    "substring": _substring,
    "split": _split,
    "split_part": call_of("strings.split_part", "strings.split_part_fails"),
    "lines": call_of("strings.lines"),
    "words": method('.str.extract_all(r"[^ \\t-\\r]+")'),
    "concat": _concat,
    "join": _join,
    "reverse": call_of("strings.reverse"),
    "repeat": call_of("strings.repeat", "strings.repeat_fails"),
    "pad_start": call_of("strings.pad_start", "strings.pad_fails"),
    "pad_end": call_of("strings.pad_end", "strings.pad_fails"),
    "index_of": call_of("strings.index_of"),
    "last_index_of": call_of("strings.last_index_of"),
    "count_of": call_of("strings.count_of"),
    "slice": lambda scope, expr: call_of(f"strings.slice_{'list' if isinstance(kind_of(expr), List) else 'text'}")(
        scope, expr
    ),
    "left": call_of("strings.left", "strings.count_fails"),
    "right": call_of("strings.right", "strings.count_fails"),
    "remove_prefix": call_of("strings.remove_prefix"),
    "remove_suffix": call_of("strings.remove_suffix"),
}


def _refuse_items(call: Call) -> str:
    kind = kind_of(call)
    plain = not isinstance(kind, List) or isinstance(kind.item, Bool | Int | String)
    return "" if plain else "contains: Polars compares floats, nulls and nested values inside lists in its own way"


REFUSALS: dict[str, Refusal] = {"contains": _refuse_items}
