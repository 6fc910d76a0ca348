"""The functions of the language as SQL, one module per family."""

from __future__ import annotations

from ghcm.codegen.spark.functions import (
    arithmetic,
    comparison,
    conversion,
    encodings,
    hashes,
    json,
    lists,
    logic,
    maps,
    network,
    patterns,
    strings,
    time,
)
from ghcm.codegen.spark.functions.emitting import Emit

__all__ = ["EMITTED"]

EMITTED: dict[str, Emit] = {
    **arithmetic.EMITTERS,
    **comparison.EMITTERS,
    **logic.EMITTERS,
    **conversion.EMITTERS,
    **strings.EMITTERS,
    **patterns.EMITTERS,
    **encodings.EMITTERS,
    **hashes.EMITTERS,
    **lists.EMITTERS,
    **maps.EMITTERS,
    **json.EMITTERS,
    **time.EMITTERS,
    **network.EMITTERS,
}
"""How each function of `ghcm.functions` is written; a test holds it total."""
