"""Bytes and their texts as Python."""

from __future__ import annotations

from ghcm.codegen.native.row_functions.emitting import Emit, Scope, call_of, helper, kind_of
from ghcm.codegen.native.row_text import ATOM, Code
from ghcm.expr import Call
from ghcm.types import String


def bytes_of(expr: Call, code: Code) -> Code:
    """The bytes of an argument that may be a string."""
    return Code(f"{code.at(ATOM)}.encode()") if isinstance(kind_of(expr), String) else code


def _to_hex(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return Code(f"{bytes_of(expr, codes[0]).at(ATOM)}.hex()")


EMITTERS: dict[str, Emit] = {
    "to_bytes": lambda scope, expr, codes: bytes_of(expr, codes[0]),
    "from_bytes": call_of("encodings.from_bytes"),
    "to_hex": _to_hex,
    "from_hex": call_of("encodings.from_hex"),
    "to_base64": lambda scope, expr, codes: helper("encodings.to_base64", bytes_of(expr, codes[0])),
    "from_base64": call_of("encodings.from_base64"),
}
