"""Bytes and their texts as Polars."""

from __future__ import annotations

from ghcm.codegen.native.column_functions.emitting import Emit, Scope, call_of, kind_of
from ghcm.codegen.native.column_text import ATOM, Column
from ghcm.expr import Call
from ghcm.types import String


def _encode(form: str) -> Emit:
    def emit(scope: Scope, expr: Call) -> Column:
        found = scope.value(expr.arguments[0])
        space = "str" if isinstance(kind_of(expr), String) else "bin"
        return Column(f'{found.at(ATOM)}.{space}.encode("{form}")', fails=found.fails)

    return emit


def _to_bytes(scope: Scope, expr: Call) -> Column:
    found = scope.value(expr.arguments[0])
    return Column(f"{found.at(ATOM)}.cast(pl.Binary)", fails=found.fails)


EMITTERS: dict[str, Emit] = {
    "to_bytes": _to_bytes,
    "to_hex": _encode("hex"),
    "from_hex": call_of("encodings.from_hex", "encodings.from_hex_fails"),
    "to_base64": _encode("base64"),
    "from_base64": call_of("encodings.from_base64", "encodings.from_base64_fails"),
}
