"""Lists as a job writes it."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, by_first

__all__ = ["EMITTERS"]

EMITTERS: dict[str, Emit] = {
    "get": by_first(Map="held", other="item"),
}
