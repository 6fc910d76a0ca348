"""The meanings of the functions of time, by Python's own calendar."""

import calendar
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

from ghcm.functions import Failure
from ghcm.spg.reference.functions.meaning import Meaning, Types, checked, fail
from ghcm.types import Date, Float

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ISO_CLOCK = r"[T ](\d\d:\d\d(?::\d\d)?)(?:(?<=:\d\d:\d\d)\.(\d{1,9}))?(Z|[+-]\d\d(?::?\d\d)?)?"
_ISO = re.compile(rf"(\d{{4}}-\d\d-\d\d)(?:{_ISO_CLOCK})?", re.ASCII)
_READ = {"Y": r"\d{4}", "f": r"\d{1,6}", "j": r"\d{1,3}", "b": "[A-Za-z]{3}", "z": r"Z|[+-]\d\d:?\d\d", "%": "%"}
_TWO = r"\d{1,2}"


def _moment(micros: int, zone: str = "UTC") -> datetime:
    """What calendar and clock of a zone show."""
    try:
        return (_EPOCH + timedelta(microseconds=micros)).astimezone(ZoneInfo(zone))
    except OverflowError:
        fail(Failure.OVERFLOW, f"{micros} microseconds since 1970 are outside of the years 1 to 9999 of {zone}")


def _micros(local: datetime) -> int:
    """The moment of a local time, the first where there are two."""
    return _inside((local.replace(fold=0) - _EPOCH) // _MICROSECOND)


def _inside(micros: int) -> int:
    _moment(micros)
    return micros


def _date(days: int) -> date:
    try:
        return _EPOCH.date() + timedelta(days=days)
    except OverflowError:
        fail(Failure.OVERFLOW, f"{days} days since 1970 are outside of the years 1 to 9999")


def _days(day: date) -> int:
    return (day - _EPOCH.date()).days


def _midnight(day: date, zone: str) -> int:
    return _micros(datetime.combine(day, time(), ZoneInfo(zone)))


def _part(compute: Callable[[datetime], int]) -> Meaning:
    def meaning(types: Types, value: int, zone: str = "UTC") -> int:
        of_date = isinstance(types.first, Date)
        return compute(datetime.combine(_date(value), time()) if of_date else _moment(value, zone))

    return meaning


def _time_of_day(local: datetime) -> int:
    return ((local.hour * 60 + local.minute) * 60 + local.second) * 1_000_000 + local.microsecond


def _truncate(_: Types, time: int, unit: int) -> int:
    return checked(time - time % unit) if unit > 0 else fail(Failure.ZERO_DIVISOR, f"a unit of {unit} is not positive")


def _truncate_to(types: Types, value: int, unit: str, zone: str = "UTC") -> int:
    if isinstance(types.first, Date):
        return _days(_first_day(_date(value), unit))
    local = _moment(value, zone)
    passed = timedelta(microseconds=local.microsecond)
    match unit:
        case "second":
            return _inside(value - passed // _MICROSECOND)
        case "minute":
            return _inside(value - (passed + timedelta(seconds=local.second)) // _MICROSECOND)
        case "hour":
            return _inside(value - (passed + timedelta(minutes=local.minute, seconds=local.second)) // _MICROSECOND)
        case _:
            return _midnight(_first_day(local.date(), unit), zone)


def _first_day(day: date, unit: str) -> date:
    match unit:
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            return day.replace(month=1, day=1)
        case _:
            return day


def _add_months(types: Types, value: int, months: int) -> int:
    of_date = isinstance(types.first, Date)
    day = _date(value) if of_date else _moment(value).date()
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        fail(Failure.OVERFLOW, f"{months} months from {day} lead out of the years 1 to 9999")
    last = calendar.monthrange(year, month + 1)[1]
    moved = _days(date(year, month + 1, min(day.day, last))) - _days(day)
    return value + (moved if of_date else timedelta(days=moved) // _MICROSECOND)


def _date_of(_: Types, year: int, month: int, day: int) -> int:
    try:
        return _days(date(year, month, day))
    except (ValueError, OverflowError):
        fail(Failure.OUT_OF_RANGE, f"there is no day {year}-{month}-{day}")


def _timestamp_of(
    _: Types, year: int, month: int, day: int, hour: int, minute: int, second: int, zone: str = "UTC"
) -> int:
    try:
        local = datetime(year, month, day, hour, minute, second, tzinfo=ZoneInfo(zone))
    except (ValueError, OverflowError):
        fail(Failure.OUT_OF_RANGE, f"there is no moment {year}-{month}-{day} {hour}:{minute}:{second}")
    return _micros(local)


def _from_number(types: Types, seconds: float) -> int:
    if isinstance(types.first, Float) and not math.isfinite(seconds):
        fail(Failure.BAD_CAST, f"{seconds} is no number of seconds")
    return checked(round(Fraction(seconds) * 1_000_000))


def _from_seconds(types: Types, seconds: float) -> int:
    return _inside(_from_number(types, seconds))


def _to_date(types: Types, value: int | str, zone: str = "UTC") -> int:
    if isinstance(value, str):
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.A):
            fail(Failure.BAD_CAST, f"{value!r} is no date")
        return _days(_read(value, "%Y-%m-%d").date())
    return _days(_moment(value, zone).date())


def _to_timestamp(_: Types, value: int | str, zone: str = "UTC") -> int:
    if isinstance(value, int):
        return _midnight(_date(value), zone)
    found = _ISO.fullmatch(value) or fail(Failure.BAD_CAST, f"{value!r} is no timestamp")
    clock = found[2] or "00:00"
    fraction = (found[3] or "0").ljust(6, "0")[:6]
    offset = (found[4] or "Z").replace(":", "")
    seconds, minutes = "" if len(clock) > 5 else ":00", "00" if len(offset) == 3 else ""
    return _micros(_read(f"{found[1]} {clock}{seconds}.{fraction} {offset}{minutes}", "%Y-%m-%d %H:%M:%S.%f %z"))


def _parse_time(_: Types, text: str, pattern: str, zone: str = "UTC") -> int:
    tokens = re.findall(r"%.|[^%]", pattern, re.DOTALL)
    form = "".join(f"(?:{_READ.get(token[1], _TWO)})" if token[0] == "%" else re.escape(token) for token in tokens)
    if not re.fullmatch(form, text, re.ASCII):
        fail(Failure.BAD_CAST, f"{text!r} has not the form {pattern!r}")
    found = _read(text, pattern)
    return _micros(found if found.tzinfo is not None else found.replace(tzinfo=ZoneInfo(zone)))


def _read(text: str, pattern: str) -> datetime:
    """What Python reads; a 366th day that the year has not is refused."""
    try:
        found = datetime.strptime(text, pattern)
    except ValueError:
        fail(Failure.BAD_CAST, f"{text!r} is no moment of the form {pattern!r}")
    if f"{found.year:04d}" not in text:
        fail(Failure.BAD_CAST, f"{text!r} is no day of the calendar")
    return found


def _format_time(types: Types, value: int, pattern: str, zone: str = "UTC") -> str:
    of_date = isinstance(types.first, Date)
    local = datetime.combine(_date(value), time()) if of_date else _moment(value, zone)
    return re.sub("%(.)", lambda found: _written(local, found[1]), pattern)


def _written(local: datetime, letter: str) -> str:
    match letter:
        case "Y":
            return f"{local.year:04d}"
        case "b":
            return "JanFebMarAprMayJunJulAugSepOctNovDec"[local.month * 3 - 3 : local.month * 3]
        case _:
            return local.strftime(f"%{letter}")


MEANINGS: dict[str, Meaning] = {
    "truncate": _truncate,
    "truncate_to": _truncate_to,
    "add_months": _add_months,
    "add_days": lambda _, day, n: _days(_date(day + n)) if abs(n) < 2**32 else fail(Failure.OVERFLOW, f"{n} days"),
    "days_between": lambda _, start, end: end - start,
    "date_of": _date_of,
    "timestamp_of": _timestamp_of,
    "year": _part(lambda local: local.year),
    "quarter": _part(lambda local: (local.month + 2) // 3),
    "month": _part(lambda local: local.month),
    "week": _part(lambda local: local.isocalendar().week),
    "week_year": _part(lambda local: local.isocalendar().year),
    "day": _part(lambda local: local.day),
    "day_of_week": _part(lambda local: local.isoweekday()),
    "day_of_year": _part(lambda local: local.timetuple().tm_yday),
    "hour": _part(lambda local: local.hour),
    "minute": _part(lambda local: local.minute),
    "second": _part(lambda local: local.second),
    "microsecond": _part(lambda local: local.microsecond),
    "time_of_day": _part(_time_of_day),
    "to_micros": lambda _, a: a,
    "from_micros": lambda _, a: a,
    "to_millis": lambda _, a: a // 1000,
    "from_millis": lambda _, a: _inside(a * 1000),
    "to_seconds": lambda _, a: float(a) / 1e6,
    "from_seconds": _from_seconds,
    "to_duration": _from_number,
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "parse_time": _parse_time,
    "format_time": _format_time,
}
