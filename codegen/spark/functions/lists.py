"""Lists as a job writes it."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, plain

__all__ = ["EMITTERS"]

EMITTERS: dict[str, Emit] = {
    "get": plain("item"),
}
