"""Time in generated row code."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.runtime.native.row_functions.arithmetic import within
from ghcm.runtime.native.rows import RecordFailure

__all__ = ["truncate"]


def truncate(micros: int, unit: int) -> int:
    """The last multiple of `unit` that is not after the time."""
    if unit <= 0:
        raise RecordFailure(Failure.ZERO_DIVISOR, f"truncate to a unit of {unit} microseconds")
    return within(micros - micros % unit, "truncate gives")
