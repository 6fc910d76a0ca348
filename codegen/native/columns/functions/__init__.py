"""The functions of the language as Polars: total over those of `ghcm.functions.FUNCTIONS` that have a columnar form.

Most are texts of that table; what no text can say stands in `arithmetic` and `values`. Calls that have no columnar form
because of their types or constants are refused with the reason; such a chain runs by rows.
"""

from __future__ import annotations

from ghcm.codegen.native.columns.functions import arithmetic, values
from ghcm.codegen.native.columns.functions.emitting import Emit, Refusal, Scope, kind_of, written
from ghcm.expr import Call
from ghcm.functions import FUNCTIONS, chosen
from ghcm.support import Never

__all__ = ["COLUMN_FUNCTIONS", "REFUSALS", "Scope", "refusal"]

COLUMN_FUNCTIONS: dict[str, Emit] = {
    **{name: written for name, function in FUNCTIONS.items() if not isinstance(function.polars, Never | None)},
    **arithmetic.EMITTERS,
    **values.EMITTERS,
}
"""The functions by name."""

REFUSALS: dict[str, Refusal] = values.REFUSALS
"""By name, what says why a call has no columnar form; "" where it has one. The table says more."""


def refusal(call: Call) -> str:
    """Why a call has no columnar form; "" where it has one."""
    polars, kind = FUNCTIONS[call.function].polars, kind_of(call)
    found = chosen(polars, kind, len(call.arguments), safe=False)
    if isinstance(found, Never):
        return f"{call.function}{'' if found is polars else f' of {kind}'}: {found.reason}"
    refuse = REFUSALS.get(call.function)
    return refuse(call) if refuse is not None else ""
