"""Time as Python."""

from __future__ import annotations

from ghcm.codegen.native.row_functions.emitting import Emit, call_of, same

__all__ = ["EMITTERS"]

EMITTERS: dict[str, Emit] = {
    "truncate": call_of("time.truncate"),
    "to_micros": same,
    "from_micros": same,
}
