"""Examples of time."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.manual.example import Example

_LATER = "from_micros(9223372036854775807)"
"""A moment far behind the year 9999."""
_MOMENT = 'to_timestamp("2026-03-29T00:30:05.000006Z")'


def _part(name: str, gives: str, zoned: str = "") -> tuple[Example, ...]:
    """A part of a moment, in UTC and perhaps in Berlin, and of one that has none."""
    found = [Example(f"{name}({_MOMENT})", gives)]
    if zoned:
        found.append(Example(f'{name}(to_timestamp("2026-03-29T23:30:05Z"), "Europe/Berlin")', zoned))
    return (*found, Example(f"{name}({_LATER})", fails=Failure.OVERFLOW))


EXAMPLES: dict[str, tuple[Example, ...]] = {
    "truncate": (
        Example("truncate(from_micros(90000000), 1m)", '"1970-01-01T00:01:00.000000Z"'),
        Example("truncate(from_micros(0), 0s)", fails=Failure.ZERO_DIVISOR),
    ),
    "truncate_to": (
        Example(f'truncate_to({_MOMENT}, "month")', '"2026-03-01T00:00:00.000000Z"'),
        Example(f'truncate_to({_MOMENT}, "week", "Europe/Berlin")', '"2026-03-22T23:00:00.000000Z"'),
        Example('truncate_to(date_of(2026, 3, 29), "quarter")', '"2026-01-01"'),
        Example(f'truncate_to({_LATER}, "day")', fails=Failure.OVERFLOW),
    ),
    "add_months": (
        Example('add_months(to_timestamp("2024-01-31T12:00"), 1)', '"2024-02-29T12:00:00.000000Z"'),
        Example("add_months(date_of(2024, 2, 29), -12)", '"2023-02-28"'),
        Example("add_months(date_of(9999, 12, 1), 1)", fails=Failure.OVERFLOW),
    ),
    "add_days": (
        Example("add_days(date_of(2026, 2, 28), 1)", '"2026-03-01"'),
        Example("add_days(date_of(9999, 12, 31), 1)", fails=Failure.OVERFLOW),
    ),
    "days_between": (Example("days_between(date_of(2026, 1, 1), date_of(2026, 3, 1))", "59"),),
    "date_of": (
        Example("date_of(2026, 1, 2)", '"2026-01-02"'),
        Example("date_of(2026, 2, 29)", fails=Failure.OUT_OF_RANGE),
    ),
    "timestamp_of": (
        Example("timestamp_of(2026, 1, 2, 3, 4, 5)", '"2026-01-02T03:04:05.000000Z"'),
        Example('timestamp_of(2026, 1, 2, 3, 4, 5, "America/New_York")', '"2026-01-02T08:04:05.000000Z"'),
        Example("timestamp_of(2026, 1, 2, 24, 0, 0)", fails=Failure.OUT_OF_RANGE),
        Example('timestamp_of(1, 1, 1, 0, 0, 0, "Europe/Berlin")', fails=Failure.OVERFLOW),
    ),
    "year": _part("year", "2026"),
    "quarter": _part("quarter", "1"),
    "month": _part("month", "3"),
    "week": _part("week", "13", "14"),
    "week_year": (Example("week_year(date_of(2027, 1, 3))", "2026"), *_part("week_year", "2026")),
    "day": _part("day", "29", "30"),
    "day_of_week": _part("day_of_week", "7", "1"),
    "day_of_year": _part("day_of_year", "88"),
    "hour": _part("hour", "0", "1"),
    "minute": _part("minute", "30"),
    "second": _part("second", "5"),
    "microsecond": _part("microsecond", "6"),
    "to_micros": (Example("to_micros(1500ms)", "1500000"),),
    "from_micros": (Example("from_micros(1)", '"1970-01-01T00:00:00.000001Z"'),),
    "to_millis": (Example("to_millis(1500us)", "1"), Example("to_millis(from_micros(-1))", "-1")),
    "from_millis": (
        Example("from_millis(1500)", '"1970-01-01T00:00:01.500000Z"'),
        Example("from_millis(9223372036854775807)", fails=Failure.OVERFLOW),
    ),
    "to_seconds": (Example("to_seconds(90m)", "5400.0"), Example("to_seconds(from_micros(1500000))", "1.5")),
    "from_seconds": (
        Example("from_seconds(1767323045)", '"2026-01-02T03:04:05.000000Z"'),
        Example("from_seconds(1331901000.25)", '"2012-03-16T12:30:00.250000Z"'),
        Example('from_seconds(to_float("nan"))', fails=Failure.BAD_CAST),
        Example("from_seconds(1e12)", fails=Failure.OVERFLOW),
    ),
    "to_duration": (
        Example("to_duration(90)", "90"),
        Example("to_duration(0.5)", "0.5"),
        Example('to_duration(to_float("inf"))', fails=Failure.BAD_CAST),
        Example("to_duration(1e13)", fails=Failure.OVERFLOW),
    ),
    "to_date": (
        Example('to_date("2026-01-02")', '"2026-01-02"'),
        Example('to_date(to_timestamp("2026-01-02T23:30Z"), "Europe/Berlin")', '"2026-01-03"'),
        Example('to_date("2026-02-29")', fails=Failure.BAD_CAST),
        Example(f"to_date({_LATER})", fails=Failure.OVERFLOW),
    ),
    "to_timestamp": (
        Example('to_timestamp("2026-01-02 03:04:05+01:00")', '"2026-01-02T02:04:05.000000Z"'),
        Example('to_timestamp(date_of(2026, 7, 1), "Europe/Berlin")', '"2026-06-30T22:00:00.000000Z"'),
        Example('to_timestamp("yesterday")', fails=Failure.BAD_CAST),
        Example('to_timestamp("0001-01-01T00:00+01:00")', fails=Failure.OVERFLOW),
    ),
    "parse_time": (
        Example('parse_time("10/Oct/2000:13:55:36 -0700", "%d/%b/%Y:%H:%M:%S %z")', '"2000-10-10T20:55:36.000000Z"'),
        Example('parse_time("25.10.2026 02:30", "%d.%m.%Y %H:%M", "Europe/Berlin")', '"2026-10-25T00:30:00.000000Z"'),
        Example('parse_time("31.02.2026", "%d.%m.%Y")', fails=Failure.BAD_CAST),
        Example('parse_time("01.01.0001", "%d.%m.%Y", "Europe/Berlin")', fails=Failure.OVERFLOW),
    ),
    "format_time": (
        Example(f'format_time({_MOMENT}, "%d/%b/%Y:%H:%M:%S %z")', '"29/Mar/2026:00:30:05 +0000"'),
        Example(f'format_time({_MOMENT}, "%H:%M %z", "Asia/Kathmandu")', '"06:15 +0545"'),
        Example('format_time(date_of(2026, 3, 29), "day %j")', '"day 088"'),
        Example(f'format_time({_LATER}, "%Y")', fails=Failure.OVERFLOW),
    ),
}
