"""Arithmetic as a job writes it."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, Writer, by_first
from ghcm.expr import Call
from ghcm.types import Float, Timestamp, strip

__all__ = ["EMITTERS"]


def _sub(writer: Writer, call: Call) -> str:
    match strip(call.arguments[0].type), strip(call.arguments[1].type):
        case Timestamp(), Timestamp():
            name = "between"
        case Timestamp(), _:
            name = "earlier"
        case Float(), _:
            name = "subtract_float"
        case _:
            name = "subtract"
    return writer.call(name, *map(writer.emit, call.arguments))


EMITTERS: dict[str, Emit] = {
    "add": by_first(Float="add_float", String="join_text", Timestamp="later", List="join_lists", other="add"),
    "sub": _sub,
    "mul": by_first(Float="multiply_float", other="multiply"),
    "div": by_first(Duration="ratio", other="divide"),
    "floordiv": by_first(Float="floor_divide_float", other="floor_divide"),
    "mod": by_first(Float="modulo_float", other="modulo"),
    "neg": by_first(Float="negative_float", other="negative"),
    "abs": by_first(Float="magnitude_float", other="magnitude"),
}
