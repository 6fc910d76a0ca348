"""Conversion as a job writes it."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, Writer, by_first, by_kind, made, plain
from ghcm.codegen.spark.text import python_text
from ghcm.expr import Call
from ghcm.types import Decimal, Enumeration, Float, Int, String, strip


def _to_int(writer: Writer, call: Call) -> str:
    match strip(call.arguments[0].type):
        case Float():
            name = "float_to_int"
        case String():
            name = "parse_int"
        case Decimal():
            name = "decimal_to_int"
        case Int():
            return writer.emit(call.arguments[0])
        case _:
            name = "to_int"
    return writer.call(name, writer.emit(call.arguments[0]))


def _to_enum(writer: Writer, call: Call) -> str:
    enum = strip(call.type)
    assert isinstance(enum, Enumeration)
    return writer.call("to_enum", writer.emit(call.arguments[0]), python_text(list(enum.values)))


def _decimal_text(writer: Writer, call: Call) -> str:
    of = call.arguments[0]
    return writer.call("decimal_text", writer.emit(of), writer.type(strip(of.type)))


_TO_STRING = by_first(
    Float="float_text", Timestamp="timestamp_text", Date="date_text", Duration="duration_text", other="plain_text"
)

EMITTERS: dict[str, Emit] = {
    "widen": plain("to_int"),
    "to_int": _to_int,
    "to_float": by_first(String="parse_float", Float="to_float", other="to_float"),
    "to_enum": _to_enum,
    "to_decimal": by_kind({String: made("parse_decimal"), Decimal: made("decimal_to_decimal")}, made("int_to_decimal")),
    "to_string": by_kind({Decimal: _decimal_text}, _TO_STRING),
}
