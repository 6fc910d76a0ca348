"""Time as a job writes it."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, Writer, plain
from ghcm.expr import Call
from ghcm.types import Timestamp, strip

__all__ = ["EMITTERS"]


def _to_micros(writer: Writer, call: Call) -> str:
    text = writer.emit(call.arguments[0])
    return f"micros({text})" if isinstance(strip(call.arguments[0].type), Timestamp) else text


EMITTERS: dict[str, Emit] = {
    "truncate": plain("truncate"),
    "to_micros": _to_micros,
    "from_micros": plain("from_micros"),
}
