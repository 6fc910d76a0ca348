"""The functions of the language as Polars, one module per family.

Total over the functions of `ghcm.functions.FUNCTIONS` that have a columnar form. A family refuses calls that have none
because of their types or constants, with the reason (`REFUSALS`); such a chain runs by rows.
"""

from __future__ import annotations

from ghcm.codegen.native.column_functions import (
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
from ghcm.codegen.native.column_functions.emitting import Emit, Refusal, Scope
from ghcm.expr import Call
from ghcm.functions import FUNCTIONS
from ghcm.support import Never

__all__ = ["COLUMN_FUNCTIONS", "REFUSALS", "Scope", "refusal"]

COLUMN_FUNCTIONS: dict[str, Emit] = {
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
"""The functions by name."""

REFUSALS: dict[str, Refusal] = {
    **arithmetic.REFUSALS,
    **comparison.REFUSALS,
    **conversion.REFUSALS,
    **strings.REFUSALS,
    **patterns.REFUSALS,
    **lists.REFUSALS,
}
"""By name, what says why a call has no columnar form; "" where it has one."""


def refusal(call: Call) -> str:
    """Why a call has no columnar form; "" where it has one."""
    support = FUNCTIONS[call.function].columnar
    if isinstance(support, Never):
        return f"{call.function}: {support.reason}"
    refuse = REFUSALS.get(call.function)
    return refuse(call) if refuse is not None else ""
