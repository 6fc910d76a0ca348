"""Bytes and their texts as a job writes them."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, plain

EMITTERS: dict[str, Emit] = {
    "to_bytes": plain("to_bytes"),
    "from_bytes": plain("from_bytes"),
    "to_hex": plain("to_hex"),
    "from_hex": plain("from_hex"),
    "to_base64": plain("to_base64"),
    "from_base64": plain("from_base64"),
}
