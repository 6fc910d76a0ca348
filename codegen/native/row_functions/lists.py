"""Lists as Python."""

from __future__ import annotations

from ghcm.codegen.native.row_functions.emitting import Emit, call_of

__all__ = ["EMITTERS"]

EMITTERS: dict[str, Emit] = {
    "get": call_of("lists.item"),
}
