"""Conversion as Polars."""

from __future__ import annotations

from ghcm.codegen.native.column_functions.emitting import (
    Emit,
    Refusal,
    Scope,
    arguments_of,
    cast_to,
    counted,
    helper,
    kind_of,
    refused_kinds,
    with_masks,
)
from ghcm.codegen.native.column_text import Column
from ghcm.codegen.native.row_text import quoted
from ghcm.expr import Call
from ghcm.types import Date, Duration, Enumeration, Float, Int, String, Timestamp, strip

__all__ = ["EMITTERS", "REFUSALS"]


def _to_int(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    match kind_of(expr):
        case Float():
            return cast_to(scope, expr, Int(), helper("conversion.float_to_int_fails", found))
        case String():
            return cast_to(scope, expr, Int(), helper("conversion.string_to_int_fails", found))
        case Int():
            return found
        case _:
            return cast_to(scope, expr, Int())


def _to_float(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    match kind_of(expr):
        case String():
            return cast_to(scope, expr, Float(), helper("conversion.string_to_float_fails", found))
        case Float():
            return found
        case _:
            return cast_to(scope, expr, Float())


def _to_string(scope: Scope, expr: Call) -> Column:
    (found,) = arguments_of(scope, expr)
    match kind_of(expr):
        case Timestamp():
            return with_masks(
                helper("conversion.timestamp_to_string", found),
                found.fails,
                helper("conversion.timestamp_to_string_fails", found),
            )
        case Date():
            return with_masks(
                helper("conversion.date_to_string", found),
                found.fails,
                helper("conversion.date_to_string_fails", found),
            )
        case Duration():
            count = counted(found, Duration())
            return with_masks(
                helper("conversion.duration_to_string", count), found.fails, helper("arithmetic.absolute_fails", count)
            )
        case String() | Enumeration():
            return found
        case _:
            return cast_to(scope, expr, String())


def _to_enum(scope: Scope, expr: Call) -> Column:
    found, enum = scope.value(expr.arguments[0]), strip(expr.type)
    assert isinstance(enum, Enumeration)
    fails = helper("conversion.to_enum_fails", found, Column(f"[{', '.join(map(quoted, enum.values))}]"))
    return with_masks(found, found.fails, fails)


EMITTERS: dict[str, Emit] = {
    "widen": lambda scope, expr: cast_to(scope, expr, Int()),
    "to_int": _to_int,
    "to_float": _to_float,
    "to_string": _to_string,
    "to_enum": _to_enum,
}

REFUSALS: dict[str, Refusal] = {
    "to_string": refused_kinds({Float: "Polars writes the exponents of floats otherwise than Python"}),
}
