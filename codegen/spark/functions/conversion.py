"""Conversion as a job writes it."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, Writer, by_first, plain
from ghcm.codegen.spark.text import python_text
from ghcm.expr import Call
from ghcm.types import Enumeration, Float, Int, String, strip

__all__ = ["EMITTERS"]


def _to_int(writer: Writer, call: Call) -> str:
    match strip(call.arguments[0].type):
        case Float():
            name = "float_to_int"
        case String():
            name = "parse_int"
        case Int():
            return writer.emit(call.arguments[0])
        case _:
            name = "to_int"
    return writer.call(name, writer.emit(call.arguments[0]))


def _to_enum(writer: Writer, call: Call) -> str:
    enum = strip(call.type)
    assert isinstance(enum, Enumeration)
    return writer.call("to_enum", writer.emit(call.arguments[0]), python_text(list(enum.values)))


EMITTERS: dict[str, Emit] = {
    "widen": plain("to_int"),
    "to_int": _to_int,
    "to_float": by_first(String="parse_float", Float="to_float", other="to_float"),
    "to_enum": _to_enum,
    "to_string": by_first(
        Float="float_text", Timestamp="timestamp_text", Date="date_text", Duration="duration_text", other="plain_text"
    ),
}
