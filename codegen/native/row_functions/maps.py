"""Maps as Python."""

from __future__ import annotations

from ghcm.codegen.native.row_functions.emitting import Emit, Scope, call_of, helper
from ghcm.codegen.native.row_text import BITOR, COMPARE, Code
from ghcm.expr import Call


def _has_key(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    of, key = codes
    if not (of.simple or key.simple):  # of two that fail the first is named
        return helper("maps.has_key", of, key)
    return Code(f"{key.at(BITOR)} in {of.at(BITOR)}", COMPARE)


EMITTERS: dict[str, Emit] = {
    "map_at": call_of("maps.at"),
    "has_key": _has_key,
    "keys": lambda scope, expr, codes: Code(f"sorted({codes[0].inner})"),
    "values": call_of("maps.values"),
    "entries": call_of("maps.entries"),
    "from_entries": call_of("maps.from_entries"),
}
