"""Conversion as Python."""

from __future__ import annotations

from ghcm.codegen.native.row_functions.emitting import Emit, Scope, call_of, helper, kind_of, same
from ghcm.codegen.native.row_text import IF, OR, Code
from ghcm.expr import Call
from ghcm.types import Bool, Date, Decimal, Duration, Enumeration, Float, Int, Int32, String, Timestamp, strip


def _to_int(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    match kind_of(expr):
        case Float():
            return helper("conversion.float_to_int", *codes)
        case String():
            return helper("conversion.string_to_int", *codes)
        case Bool():
            return Code(f"int({codes[0].inner})")
        case Decimal():
            return helper("conversion.decimal_to_int", *codes)
        case _:
            return codes[0]


def _to_float(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    match kind_of(expr):
        case String():
            return helper("conversion.string_to_float", *codes)
        case Int() | Int32() | Decimal():
            return Code(f"float({codes[0].inner})")
        case _:
            return codes[0]


def _to_string(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    match kind_of(expr):
        case Bool():
            return Code(f'"true" if {codes[0].at(OR)} else "false"', IF)
        case Timestamp():
            return helper("conversion.timestamp_to_string", *codes)
        case Date():
            return helper("conversion.date_to_string", *codes)
        case Duration():
            return helper("conversion.duration_to_string", *codes)
        case Decimal(scale=scale):
            return helper("conversion.decimal_to_string", codes[0], Code(str(scale)))
        case String() | Enumeration():
            return codes[0]
        case _:
            return Code(f"str({codes[0].inner})")


def _to_decimal(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    to = strip(expr.type)
    assert isinstance(to, Decimal)
    kind = kind_of(expr)
    name = "string" if isinstance(kind, String) else "decimal" if isinstance(kind, Decimal) else "int"
    return helper(f"conversion.{name}_to_decimal", codes[0], Code(str(to.precision)), Code(str(to.scale)))


EMITTERS: dict[str, Emit] = {
    "widen": same,
    "to_int": _to_int,
    "to_float": _to_float,
    "to_string": _to_string,
    "to_decimal": _to_decimal,
    "to_enum": call_of("conversion.to_enum"),
}
