"""Time in generated row code: the calendar, and numbers of seconds."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from math import isfinite
from typing import NoReturn

from ghcm.functions import Failure
from ghcm.runtime.native.row_functions.numbers import within
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.native.zones import EPOCH, local_of, offset_of_local
from ghcm.values.timestamps import FIRST_DAY, FIRST_MICROS, LAST_DAY, LAST_MICROS

_DAY = 86_400_000_000
_SIZES = {"second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000}
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def truncate(micros: int, unit: int) -> int:
    """The last multiple of `unit` that is not after the time."""
    if unit <= 0:
        raise RecordFailure(Failure.ZERO_DIVISOR, f"truncate to a unit of {unit} microseconds")
    return within(micros - micros % unit, "truncate gives")


# --- the calendar ----------------------------------------------------------------------------------------------------


def _left(what: str) -> NoReturn:
    raise RecordFailure(Failure.OVERFLOW, f"{what} is outside of the years 1 to 9999")


def inside(micros: int) -> int:
    """The timestamp itself if it is in the years 1 to 9999; `overflow` otherwise."""
    return micros if FIRST_MICROS <= micros <= LAST_MICROS else _left(f"the moment {micros}")


def local(micros: int, zone: str = "") -> datetime:
    """What calendar and clock show."""
    try:
        return local_of(zone, micros) if zone else EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        _left(f"the moment {micros}")


def local_date(days: int) -> date:
    """The day of a date."""
    return date.fromordinal(days - FIRST_DAY + 1) if FIRST_DAY <= days <= LAST_DAY else _left(f"the day {days}")


def day_at(micros: int, zone: str = "") -> int:
    """The date of a timestamp."""
    return local(micros, zone).toordinal() - 1 + FIRST_DAY


def _moment(local_micros: int, zone: str) -> int:
    return inside(local_micros - offset_of_local(zone, local_micros)) if zone else local_micros


def date_to_timestamp(days: int, zone: str = "") -> int:
    """Midnight of a date."""
    return _moment(days * _DAY, zone) if FIRST_DAY <= days <= LAST_DAY else _left(f"the day {days}")


def clock_start(micros: int, unit: str, zone: str = "") -> int:
    """The beginning of the second, minute or hour."""
    size = _SIZES[unit]
    if not zone:
        return inside(micros) - micros % size
    shown = (local(micros, zone) - EPOCH) // timedelta(microseconds=1)
    return inside(micros - shown % size)


def day_start(micros: int, unit: str, zone: str = "") -> int:
    """The beginning of the day, or of a longer unit."""
    return _moment(_first_day(local(micros, zone), unit) * _DAY, zone)


def date_start(days: int, unit: str) -> int:
    """The first day of the unit."""
    return _first_day(local_date(days), unit)


def _first_day(day: date, unit: str) -> int:
    match unit:
        case "week":
            ordinal = day.toordinal() - day.weekday()
        case "month":
            ordinal = day.toordinal() - day.day + 1
        case "quarter":
            ordinal = date(day.year, (day.month - 1) // 3 * 3 + 1, 1).toordinal()
        case "year":
            ordinal = date(day.year, 1, 1).toordinal()
        case _:
            ordinal = day.toordinal()
    return ordinal - 1 + FIRST_DAY


def add_months(micros: int, months: int) -> int:
    """The timestamp so many months later."""
    return _moved(local(micros), months) * _DAY + micros % _DAY


def add_months_to_date(days: int, months: int) -> int:
    """The date so many months later."""
    return _moved(local_date(days), months)


def _moved(day: date, months: int) -> int:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        _left(f"{months} months from {day.year:04}-{day.month:02}-{day.day:02}")
    last = 28 if month == 1 and (year % 4 or (year % 100 == 0 and year % 400)) else _LONGEST[month]
    return date(year, month + 1, min(day.day, last)).toordinal() - 1 + FIRST_DAY


def add_days(days: int, count: int) -> int:
    """The date so many days later."""
    later = days + count
    return later if FIRST_DAY <= later <= LAST_DAY else _left(f"the day {later}")


def date_of(year: int, month: int, day: int) -> int:
    """The day that the calendar calls so."""
    try:
        return date(year, month, day).toordinal() - 1 + FIRST_DAY
    except (ValueError, OverflowError):
        raise RecordFailure(Failure.OUT_OF_RANGE, f"there is no day {year}-{month}-{day}") from None


def timestamp_of(year: int, month: int, day: int, hour: int, minute: int, second: int, zone: str = "") -> int:
    """The moment at which calendar and clock show this."""
    days = date_of(year, month, day)
    if not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59):
        raise RecordFailure(Failure.OUT_OF_RANGE, f"there is no time {hour}:{minute}:{second}")
    return _moment(days * _DAY + ((hour * 60 + minute) * 60 + second) * 1_000_000, zone)


def micros(seconds: float) -> int:
    """The nearest number of microseconds, half to even: exactly, for a float is a fraction."""
    if not isfinite(seconds):
        raise RecordFailure(Failure.BAD_CAST, f"{seconds} is no number of seconds")
    over, under = seconds.as_integer_ratio()
    whole, rest = divmod(over * 1_000_000, under)
    return whole + (2 * rest > under or (2 * rest == under and whole & 1))
