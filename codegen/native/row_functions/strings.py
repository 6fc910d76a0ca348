"""Strings as Python."""

from __future__ import annotations

from ghcm.codegen.expressions import constant, plainly_ordered
from ghcm.codegen.native.row_functions.emitting import Emit, Scope, call_of, helper, kind_of, method
from ghcm.codegen.native.row_text import ATOM, BITOR, COMPARE, Code
from ghcm.expr import Call
from ghcm.types import Float, List

__all__ = ["EMITTERS"]


def _contains(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    kind, (where, what) = kind_of(expr), codes
    if isinstance(kind, List) and isinstance(kind.item, Float):
        return helper("lists.list_contains", where, what)
    if isinstance(kind, List) and not plainly_ordered(kind.item):
        order = scope.module.order(kind.item)
        return Code(f"{order}({what.inner}) in map({order}, {where.inner})", COMPARE)
    return Code(f"{what.at(BITOR)} in {where.at(BITOR)}", COMPARE)


def _replace(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return method("replace")(scope, expr, codes) if constant(expr.arguments[1]) else helper("strings.replace", *codes)


def _split(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return method("split")(scope, expr, codes) if constant(expr.arguments[1]) else helper("strings.split", *codes)


EMITTERS: dict[str, Emit] = {
    "length": lambda scope, expr, codes: Code(f"len({codes[0].inner})"),
    "lower": method("lower"),
    "upper": method("upper"),
    "trim": lambda scope, expr, codes: Code(f'{codes[0].at(ATOM)}.strip(" \\t\\n\\r\\v\\f")'),
    "starts_with": method("startswith"),
    "ends_with": method("endswith"),
    "contains": _contains,
    "replace": _replace,
    "substring": call_of("strings.substring"),
    "split": _split,
}
