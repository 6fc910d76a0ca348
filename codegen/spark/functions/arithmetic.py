"""Arithmetic as a job writes it."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, Writer, by_first, by_kind, typed
from ghcm.expr import Call
from ghcm.types import Decimal, Float, Timestamp, strip


def _mul(writer: Writer, call: Call) -> str:
    """Both types are said too: Spark would round the product of decimals that have all digits together."""
    left, right = (strip(each.type) for each in call.arguments)
    name = "multiply_float" if isinstance(left, Float) else "multiply"
    if not isinstance(left, Decimal) or not isinstance(right, Decimal):
        return writer.call(name, *map(writer.emit, call.arguments))
    types = map(writer.type, (left, right, strip(call.type)))
    return writer.call("multiply_decimal", *map(writer.emit, call.arguments), *types)


def _sub(writer: Writer, call: Call) -> str:
    match strip(call.arguments[0].type), strip(call.arguments[1].type):
        case Timestamp(), Timestamp():
            name = "between"
        case Timestamp(), _:
            name = "earlier"
        case Float(), _:
            name = "subtract_float"
        case Decimal(), _:
            return typed("subtract_decimal")(writer, call)
        case _:
            name = "subtract"
    return writer.call(name, *map(writer.emit, call.arguments))


EMITTERS: dict[str, Emit] = {
    "add": by_kind(
        {Decimal: typed("add_decimal")},
        by_first(Float="add_float", String="join_text", Timestamp="later", List="join_lists", other="add"),
    ),
    "sub": _sub,
    "mul": _mul,
    "div": by_first(Duration="ratio", other="divide"),
    "floordiv": by_first(Float="floor_divide_float", other="floor_divide"),
    "mod": by_first(Float="modulo_float", other="modulo"),
    "neg": by_kind({Decimal: typed("negative_decimal")}, by_first(Float="negative_float", other="negative")),
    "abs": by_kind({Decimal: typed("magnitude_decimal")}, by_first(Float="magnitude_float", other="magnitude")),
    "round_half_up": lambda writer, call: writer.call(
        "round_half_up", writer.emit(call.arguments[0]), writer.type(strip(call.type))
    ),
}
