"""The functions of the language as Python: total over `ghcm.functions.FUNCTIONS`.

Most are texts of that table; what no text can say stands in `logic` and `values`.
"""

from __future__ import annotations

from ghcm.codegen.native.rows.functions import logic, values
from ghcm.codegen.native.rows.functions.emitting import Emit, Handled, Scope, perhaps_null, written
from ghcm.functions import FUNCTIONS

__all__ = ["HANDLED", "ROW_FUNCTIONS", "Scope", "perhaps_null"]

HANDLED: dict[str, Handled] = {**logic.HANDLED}
"""The functions that mind nulls themselves, by name."""

ROW_FUNCTIONS: dict[str, Emit] = {
    **{name: written for name, function in FUNCTIONS.items() if function.python is not None},
    **logic.EMITTERS,
    **values.EMITTERS,
}
"""The functions that propagate nulls, by name; those that do not are handled above."""
