"""What a user might write for single records."""

from __future__ import annotations

import os
from datetime import timedelta
from decimal import Decimal
from typing import Any


def told(row: Any) -> object:
    """Fails where the key is "bad"; a missing key gives no record of the type that is asked for."""
    if row.key == "bad":
        raise ValueError("a bad key")
    return {"name": row.key, "n": row.n}


_CENTS = [Decimal("1.5"), Decimal("1.234"), Decimal("NaN"), Decimal("123456.00"), Decimal("Infinity"), Decimal("-1E+2")]


def cents(row: Any) -> object:
    """Half of them have too many digits, or no end."""
    return _CENTS[row.n]


def took(row: Any) -> object:
    """Python's longest durations have more than 64 bits of microseconds."""
    return (timedelta.max, timedelta.min, timedelta(days=1))[row.n % 3]


def name(row: Any) -> object:
    """Half a surrogate pair, as in names of files that are no UTF-8."""
    return ("é", os.fsdecode(b"\xff"))[row.n % 2]


def share(row: Any) -> object:
    """A whole number that no float holds."""
    return (1, 10**400, 0.5)[row.n % 3]


def raising(row: Any) -> object:
    """Fails with a text that no file takes."""
    if row.n % 2:
        raise ValueError(os.fsdecode(b"caf\xe9"))
    return row.n
