"""Maps as a job writes them."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, plain

EMITTERS: dict[str, Emit] = {
    "map_at": plain("held_surely"),
    "has_key": plain("has_key"),
    "keys": plain("keys"),
    "values": plain("values"),
    "entries": plain("entries"),
    "from_entries": plain("from_entries"),
}
