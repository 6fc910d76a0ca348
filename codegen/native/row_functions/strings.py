"""Strings as Python."""

from __future__ import annotations

from ghcm.codegen.expressions import constant, plainly_ordered
from ghcm.codegen.native.row_functions.emitting import Emit, Scope, call_of, helper, kind_of, method
from ghcm.codegen.native.row_text import ATOM, BITOR, COMPARE, PRODUCT, SUM, Code
from ghcm.expr import Call
from ghcm.types import Float, List


def _contains(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    kind, (where, what) = kind_of(expr), codes
    if isinstance(kind, List) and isinstance(kind.item, Float):
        return helper("lists.list_contains", where, what)
    if isinstance(kind, List) and not plainly_ordered(kind.item):
        order = scope.module.order(kind.item)
        where, what = Code(f"map({order}, {where.inner})", simple=where.simple), Code(f"{order}({what.inner})")
    if where.simple or what.simple:
        return Code(f"{what.at(BITOR)} in {where.at(BITOR)}", COMPARE)
    return helper("strings.contains", where, what)


def _replace(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return method("replace")(scope, expr, codes) if constant(expr.arguments[1]) else helper("strings.replace", *codes)


def _split(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return method("split")(scope, expr, codes) if constant(expr.arguments[1]) else helper("strings.split", *codes)


def _join(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    texts, between = codes
    plain = texts.simple or between.simple
    return Code(f"{between.at(ATOM)}.join({texts.inner})") if plain else helper("strings.join", texts, between)


def _trim(name: str) -> Emit:
    def emit(scope: Scope, expr: Call, codes: list[Code]) -> Code:
        characters = codes[1].inner if len(codes) > 1 else r'" \t\n\r\v\f"'
        return Code(f"{codes[0].at(ATOM)}.{name}({characters})")

    return emit


def _slice(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    of, start, *end = codes
    return Code(f"{of.at(ATOM)}[{start.inner}:{end[0].inner if end else ''}]")


EMITTERS: dict[str, Emit] = {
    "length": lambda scope, expr, codes: Code(f"len({codes[0].inner})"),
    "lower": method("lower"),
    "upper": method("upper"),
    "trim": _trim("strip"),
    "trim_start": _trim("lstrip"),
    "trim_end": _trim("rstrip"),
    "is_empty": lambda scope, expr, codes: Code(f"len({codes[0].inner}) == 0", COMPARE),
    "starts_with": method("startswith"),
    "ends_with": method("endswith"),
    "contains": _contains,
    "replace": _replace,
    "substring": call_of("strings.substring"),
    "split": _split,
    "split_part": call_of("strings.split_part"),
    "lines": call_of("strings.lines"),
    "words": call_of("strings.words"),
    "concat": lambda scope, expr, codes: Code(" + ".join(each.at(PRODUCT) for each in codes), SUM),
    "join": _join,
    "reverse": lambda scope, expr, codes: Code(f"{codes[0].at(ATOM)}[::-1]"),
    "repeat": call_of("strings.repeat"),
    "pad_start": call_of("strings.pad_start"),
    "pad_end": call_of("strings.pad_end"),
    "index_of": method("find"),
    "last_index_of": method("rfind"),
    "count_of": method("count"),
    "slice": _slice,
    "left": call_of("strings.left"),
    "right": call_of("strings.right"),
    "remove_prefix": method("removeprefix"),
    "remove_suffix": method("removesuffix"),
}
