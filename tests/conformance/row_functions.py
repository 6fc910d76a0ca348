"""What a user might write for single records."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any


def told(row: Any) -> object:
    """Fails where the key is "bad"; a missing key gives no record of the type that is asked for."""
    if row.key == "bad":
        raise ValueError("a bad key")
    return {"name": row.key, "n": row.n}


def heard(key: Any, value: Any, time: datetime, state: Any) -> object:
    """Names moments before, at and behind the next values, and fails in each way that there is."""
    n = state.n if state else 0
    last = value or (state and state.last)
    soon = time + timedelta(microseconds=n % 4)  # of which the first is not behind
    if (n + time.microsecond) % 7 == 3:
        raise ValueError("three of seven")
    if value is None:
        rows = [(-n, time, last), {"n": n, "at": time, "last": None}]
        return rows, {"n": n + 1, "last": last} if n % 3 else None, soon if n % 5 == 1 else None
    if value.price == 5:
        return [] if n % 2 else [(n, time)], None, None
    return [(n, time, last)] * (n % 3), (n + 1, last), None if value.price is None else soon + timedelta(microseconds=1)


def counted(key: Any, value: Any, time: datetime, state: Any) -> object:
    """Counts, and is called again every other microsecond for a while."""
    n = state.n if state else 0
    again = time.replace(tzinfo=None) + timedelta(microseconds=2)
    return {"rows": (value, n), "state": {"n": n + 1}, "moment": None if n % 6 == 5 else again}


def endless(key: Any, value: Any, time: datetime, state: Any) -> object:
    """Is called again and again."""
    return [state is None], None, time + timedelta(microseconds=1)


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
