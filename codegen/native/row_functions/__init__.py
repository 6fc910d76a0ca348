"""The functions of the language as Python: total over `ghcm.functions.FUNCTIONS`, one module per family."""

from __future__ import annotations

from ghcm.codegen.native.row_functions import (
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
from ghcm.codegen.native.row_functions.emitting import Emit, Handled, Scope, perhaps_null

__all__ = ["HANDLED", "ROW_FUNCTIONS", "Scope", "perhaps_null"]

HANDLED: dict[str, Handled] = {**logic.HANDLED}
"""The functions that mind nulls themselves, by name."""

ROW_FUNCTIONS: dict[str, Emit] = {
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
"""The functions that propagate nulls, by name; those that do not are handled above."""
