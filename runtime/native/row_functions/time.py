"""Time in generated row code: the calendar, numbers of seconds, and moments as text by patterns and by ISO 8601."""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from math import isfinite
from typing import NoReturn

from ghcm.functions import Failure
from ghcm.runtime.native.row_functions.numbers import within
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.native.zones import EPOCH, local_of, offset_at, offset_of_local
from ghcm.values.timestamps import (
    FIRST_DAY,
    FIRST_MICROS,
    ISO_DATE,
    ISO_TIMESTAMP,
    LAST_DAY,
    LAST_MICROS,
    MONTHS,
    Directive,
    Layout,
    layout_of,
    pieces_of,
)

_DAY, _SECOND = 86_400_000_000, 1_000_000
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


def time_of_day(micros: int, zone: str = "") -> int:
    """The microseconds since midnight that the clock shows."""
    shown = local(micros, zone)
    return ((shown.hour * 60 + shown.minute) * 60 + shown.second) * _SECOND + shown.microsecond


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


def start(micros: int, unit: str, zone: str = "") -> int:
    """The beginning of the unit of the clock or the calendar."""
    size = _SIZES.get(unit)
    if size is None:
        return _moment(_first_day(local(micros, zone), unit) * _DAY, zone)
    if not zone:
        return inside(micros) - micros % size
    shown = (local(micros, zone) - EPOCH) // timedelta(microseconds=1)
    return inside(micros - shown % size)


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


# --- texts -----------------------------------------------------------------------------------------------------------

_NUMBERS = {name.lower(): number for number, name in enumerate(MONTHS, 1)}


def reader(pattern: str, zone: str = "") -> Callable[[str], int]:
    """The function that reads timestamps by a pattern."""
    return _reader(layout_of(pattern), zone)


def _reader(layout: Layout, zone: str) -> Callable[[str], int]:
    form, fields = re.compile(layout.regex), layout.fields

    def read(text: str) -> int:
        found = form.fullmatch(text)
        if found is None:
            _refuse(text)
        parts = dict(zip(fields, found.groups(), strict=True))
        local = _days(parts, text) * _DAY + _time_of_day(parts, text)
        micros = local - (offset_of_local(zone, local) if zone else _offset(parts.get("z") or "Z"))
        return micros if FIRST_MICROS <= micros <= LAST_MICROS else _left(f'"{text[:100]}"')

    return read


def _refuse(text: str) -> NoReturn:
    raise RecordFailure(Failure.BAD_CAST, f'"{text[:100]}" is no such moment')


def _days(parts: Mapping[str, str | None], text: str) -> int:
    """The day since 1970."""
    year = int(parts["Y"] or 0)
    try:
        if of_year := parts.get("j"):
            day = date(year, 1, 1).toordinal() + int(of_year) - 1
            if day > date(year, 12, 31).toordinal():
                _refuse(text)
        else:
            month = _NUMBERS[name.lower()] if (name := parts.get("b")) else int(parts["m"] or 0)
            day = date(year, month, int(parts["d"] or 0)).toordinal()
    except ValueError:
        _refuse(text)
    return day - 1 + FIRST_DAY


def _time_of_day(parts: Mapping[str, str | None], text: str) -> int:
    hour, minute, second = (int(parts.get(letter) or 0) for letter in "HMS")
    if second > 59:
        _refuse(text)
    fraction = (parts.get("f") or "").ljust(6, "0")[:6]
    return ((hour * 60 + minute) * 60 + second) * _SECOND + int(fraction)


def _offset(text: str) -> int:
    """`Z`, `+01`, `+01:00` or `+0100`."""
    if text == "Z":
        return 0
    seconds = int(text[1:3]) * 3600 + int(text[-2:]) * 60 * (len(text) > 3)
    return (-seconds if text[0] == "-" else seconds) * _SECOND


to_timestamp = _reader(ISO_TIMESTAMP, "")
"""The timestamp in a text of ISO 8601."""


def to_date(text: str) -> int:
    """The date in a text of ISO 8601."""
    found = _ISO_DATE.fullmatch(text)
    return _days(dict(zip(ISO_DATE.fields, found.groups(), strict=True)), text) if found else _refuse(text)


_ISO_DATE = re.compile(ISO_DATE.regex)


def writer(pattern: str, zone: str = "", *, of_date: bool = False) -> Callable[[int], str]:
    """The function that writes timestamps, or dates, by a pattern."""
    parts = [_TEXTS[piece.letter] if isinstance(piece, Directive) else _same(piece) for piece in pieces_of(pattern)]

    def write(value: int) -> str:
        micros = value * _DAY if of_date else value
        try:
            local = local_of(zone, micros) if zone else EPOCH + timedelta(microseconds=micros)
        except OverflowError:
            _left(str(value))
        offset = offset_at(zone, micros) if zone else 0
        return "".join([part(local, offset) for part in parts])

    return write


def _same(text: str) -> Callable[[datetime, int], str]:
    return lambda local, offset: text


def _offset_text(offset: int) -> str:
    minutes, seconds = divmod(abs(offset) // _SECOND, 60)
    return f"{'-' if offset < 0 else '+'}{minutes // 60:02}{minutes % 60:02}{f'{seconds:02}' if seconds else ''}"


_TEXTS: dict[str, Callable[[datetime, int], str]] = {
    "Y": lambda local, offset: f"{local.year:04}",
    "m": lambda local, offset: f"{local.month:02}",
    "d": lambda local, offset: f"{local.day:02}",
    "j": lambda local, offset: f"{local.timetuple().tm_yday:03}",
    "b": lambda local, offset: MONTHS[local.month - 1],
    "H": lambda local, offset: f"{local.hour:02}",
    "M": lambda local, offset: f"{local.minute:02}",
    "S": lambda local, offset: f"{local.second:02}",
    "f": lambda local, offset: f"{local.microsecond:06}",
    "z": lambda local, offset: _offset_text(offset),
}
