"""Time in the table of functions.

Timestamps and durations are microseconds.
"""

from __future__ import annotations

from ghcm.functions.table import Failure, Function
from ghcm.signatures import DURATION, INT, TIMESTAMP, first, fixed

__all__ = ["TABLE"]

TABLE = (
    Function(
        "truncate",
        "truncate(t, unit)",
        fixed(TIMESTAMP, TIMESTAMP, DURATION),
        "the last multiple of unit since 1970 that is not after t; fails for a unit that is not positive",
        failures=(Failure.ZERO_DIVISOR,),
    ),
    Function(
        "to_micros",
        "to_micros(t)",
        first(fixed(INT, TIMESTAMP), fixed(INT, DURATION)),
        "microseconds since 1970, or of the duration",
    ),
    Function("from_micros", "from_micros(n)", fixed(TIMESTAMP, INT), "the timestamp so many microseconds after 1970"),
)
