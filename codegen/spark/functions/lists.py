"""Lists as a job writes it."""

from __future__ import annotations

from ghcm.codegen.expressions import constant
from ghcm.codegen.spark.functions.emitting import Emit, Writer, by_first, plain
from ghcm.expr import Call
from ghcm.types import Decimal, Float, List, strip


def _by_item(floats: str, other: str) -> Emit:
    """The helper that the type of the items asks for."""

    def emit(writer: Writer, call: Call) -> str:
        kind = strip(call.arguments[0].type)
        assert isinstance(kind, List)
        name = floats if isinstance(strip(kind.item), Float) else other
        return writer.call(name, writer.emit(call.arguments[0]))

    return emit


def _sum(writer: Writer, call: Call) -> str:
    result = strip(call.type)
    if isinstance(result, Decimal):
        return writer.call("sum_of_decimals", writer.emit(call.arguments[0]), writer.type(result))
    return _by_item("sum_of_floats", "sum_of_whole")(writer, call)


def _sorted(name: str) -> Emit:
    return lambda writer, call: writer.call(name, writer.emit(call.arguments[0]), repr(constant(call.arguments[1])))


EMITTERS: dict[str, Emit] = {
    "get": by_first(Map="held", other="item"),
    "list_sum": _sum,
    "list_mean": _by_item("mean_of_floats", "mean_of_numbers"),
    "list_min": plain("least_item"),
    "list_max": plain("greatest_item"),
    "list_sort": _sorted("sorted_items"),
    "list_sort_by": _sorted("sorted_by_key"),
    "list_distinct": plain("distinct_items"),
}
