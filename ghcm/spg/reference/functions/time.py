"""The meanings of the functions of time."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.spg.reference.functions.meaning import Meaning, Types, checked, fail

__all__ = ["MEANINGS"]


def _truncate(_: Types, time: int, unit: int) -> int:
    return checked(time - time % unit) if unit > 0 else fail(Failure.ZERO_DIVISOR, f"a unit of {unit} is not positive")


MEANINGS: dict[str, Meaning] = {
    "truncate": _truncate,
    "to_micros": lambda _, a: a,
    "from_micros": lambda _, a: a,
}
