"""Conversion as Polars."""

from __future__ import annotations

from ghcm.codegen.native.column_functions.emitting import (
    Emit,
    Refusal,
    Scope,
    arguments_of,
    cast_to,
    counted,
    digits_of,
    helper,
    kind_of,
    number,
    refused_kinds,
    with_masks,
)
from ghcm.codegen.native.column_text import Column
from ghcm.codegen.native.row_text import quoted
from ghcm.expr import Call
from ghcm.types import Date, Decimal, Duration, Enumeration, Float, Int, String, Timestamp, strip


def _to_int(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    match kind_of(expr):
        case Float():
            return cast_to(scope, expr, Int(), helper("conversion.float_to_int_fails", found))
        case String():
            return cast_to(scope, expr, Int(), helper("conversion.string_to_int_fails", found))
        case Int():
            return found
        case Decimal(scale=scale):
            value, fails = _both("conversion.decimal_to_int", found, scale)
            return with_masks(value, found.fails, fails)
        case _:
            return cast_to(scope, expr, Int())


def _to_float(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    match kind_of(expr):
        case String():
            return cast_to(scope, expr, Float(), helper("conversion.string_to_float_fails", found))
        case Float():
            return found
        case Decimal(scale=scale):
            value = helper("conversion.decimal_to_float", found, *number(scale))
            return with_masks(value, found.fails, helper("conversion.decimal_to_float_fails", found))
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
        case Decimal(scale=scale):
            return with_masks(helper("conversion.decimal_to_string", found, *number(scale)), found.fails)
        case _:
            return cast_to(scope, expr, String())


def _to_decimal(scope: Scope, expr: Call) -> Column:
    found, kind = scope.value(expr.arguments[0]), kind_of(expr)
    precision, scale = digits_of(expr.type)
    whole = precision - scale
    if isinstance(kind, Int):
        value = helper("conversion.int_to_decimal", found, *number(precision, scale))
        fails = helper("conversion.int_to_decimal_fails", found, *number(whole)) if whole < 19 else None
        return with_masks(value, found.fails, fails)
    of, behind = digits_of(kind)
    value, fails = _both("conversion.decimal_to_decimal", found, behind, precision, scale)
    return with_masks(value, found.fails, None if scale >= behind and whole >= of - behind else fails)


def _both(name: str, found: Column, *values: int) -> tuple[Column, Column]:
    """A value and where it fails."""
    return helper(name, found, *number(*values)), helper(f"{name}_fails", found, *number(*values))


def _exponents(call: Call) -> str:
    kind = kind_of(call)
    if isinstance(kind, Decimal) and kind.scale > _EXACT_POWERS:
        return f"to_float of {kind}: no float is so great a power of ten"
    return ""


def _to_enum(scope: Scope, expr: Call) -> Column:
    found, enum = scope.value(expr.arguments[0]), strip(expr.type)
    assert isinstance(enum, Enumeration)
    fails = helper("conversion.to_enum_fails", found, Column(f"[{', '.join(map(quoted, enum.values))}]"))
    return with_masks(found, found.fails, fails)


_EXACT_POWERS = 22
"""So great a power of ten is a float."""

EMITTERS: dict[str, Emit] = {
    "widen": lambda scope, expr: cast_to(scope, expr, Int()),
    "to_int": _to_int,
    "to_float": _to_float,
    "to_string": _to_string,
    "to_decimal": _to_decimal,
    "to_enum": _to_enum,
}

REFUSALS: dict[str, Refusal] = {
    "to_string": refused_kinds({Float: "Polars writes the exponents of floats otherwise than Python"}),
    "to_float": _exponents,
    "to_decimal": refused_kinds({String: "Polars reads texts as decimals of another form"}),
}
