"""Time zones: how far their clocks are from UTC, for moments and for what the clocks show, one by one and by column.

All forms ask the data base that Python has, so that they agree. A local time that exists twice is the earlier moment,
one that does not exist is read by the offset before the gap. Everything is in microseconds.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache, lru_cache
from zoneinfo import ZoneInfo

import polars as pl

EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)
_HOUR, _DAY = 3_600_000_000, 86_400_000_000

_Offset = Callable[[str, int], int]


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def local_of(name: str, micros: int) -> datetime:
    """What the clocks of a zone show; OverflowError outside of the years 1 to 9999, there or in UTC."""
    zone = _zone(name)
    return zone.fromutc((EPOCH + timedelta(microseconds=micros)).replace(tzinfo=zone)).replace(tzinfo=None)


def offset_at(name: str, micros: int) -> int:
    """The offset at a moment of the years 1 to 9999; a day out of these years where the clocks leave them."""
    try:
        return (local_of(name, micros) - EPOCH) // _MICROSECOND - micros
    except OverflowError:
        return -_DAY if micros < 0 else _DAY


def offset_of_local(name: str, micros: int) -> int:
    """The offset of what clocks show in the years 1 to 9999."""
    zone = _zone(name)
    offset = zone.utcoffset((EPOCH + timedelta(microseconds=micros)).replace(tzinfo=zone))
    assert offset is not None, "zones of the data base know their offsets"
    return offset // _MICROSECOND


def offsets_at(name: str) -> Callable[[pl.Series], pl.Series]:
    """The offsets at a column of moments."""
    return lambda values: _offsets(offset_at, name, values)


def offsets_of_local(name: str) -> Callable[[pl.Series], pl.Series]:
    """The offsets of a column of what clocks show."""
    return lambda values: _offsets(offset_of_local, name, values)


def _offsets(offset: _Offset, name: str, values: pl.Series) -> pl.Series:
    """Offsets hour by hour, for an hour has one but where it changes within."""
    hours = values // _HOUR
    seen: list[int] = hours.drop_nulls().unique().to_list()
    known = [_of_hour(offset, name, hour) for hour in seen]
    changing = [hour for hour, found in zip(seen, known, strict=True) if found is None]
    found = hours.replace_strict(seen, pl.Series(known, dtype=pl.Int64), default=None, return_dtype=pl.Int64)
    if not changing:
        return found
    there = hours.is_in(pl.Series(changing, dtype=pl.Int64)).fill_null(value=False)
    exact = pl.Series([offset(name, each) for each in values.filter(there).to_list()], dtype=pl.Int64)
    return found.scatter(there.arg_true(), exact)


@lru_cache(maxsize=100_000)
def _of_hour(offset: _Offset, name: str, hour: int) -> int | None:
    first, last = offset(name, max(hour * _HOUR, _FIRST)), offset(name, min((hour + 1) * _HOUR - 1, _LAST))
    return first if first == last else None


_FIRST = (datetime.min - EPOCH) // _MICROSECOND
_LAST = (datetime.max - EPOCH) // _MICROSECOND
