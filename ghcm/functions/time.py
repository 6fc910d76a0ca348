"""Time in the table of functions.

Timestamps and durations are microseconds, dates days. What looks at the calendar keeps to the years 1 to 9999. A zone is
a constant name of the IANA data base; without one it is UTC. A local time that a zone has twice is the earlier moment; one
that it leaves out is read by the offset before the gap, as Python and Java do.
"""

from __future__ import annotations

from collections.abc import Callable

from ghcm.errors import suggest
from ghcm.functions.table import BadConstant, ConstantRule, Failure, Function
from ghcm.signatures import DATE, DURATION, FLOAT, INT, STRING, TIMESTAMP, Rule, first, fixed
from ghcm.types import Date, Type
from ghcm.values.timestamps import DATE_UNITS, UNITS, BadWord, check_format, layout_of, zones


def zoned(place: int) -> ConstantRule:
    """The argument at that place, if it is given, is a time zone."""

    def rule(types: tuple[Type, ...], values: tuple[object, ...]) -> BadConstant | None:
        zone = values[place] if place < len(values) else "UTC"
        if zone in zones():
            return None
        hint = suggest(str(zone), zones()) or 'Zones are called as in "Europe/Berlin" and "UTC".'
        return BadConstant(place, f'there is no time zone "{zone}"', hint)

    return rule


def unit(types: tuple[Type, ...], values: tuple[object, ...]) -> BadConstant | None:
    """A unit that the value has, then perhaps a zone."""
    known = DATE_UNITS if isinstance(types[0], Date) else UNITS
    if values[1] in known:
        return zoned(2)(types, values)
    kind = "a date has" if isinstance(types[0], Date) else "there is"
    return BadConstant(1, f'{kind} no unit "{values[1]}"', f"Units are {', '.join(known)}.")


def pattern(check: Callable[[str, tuple[Type, ...], bool], None]) -> ConstantRule:
    """A pattern that the check lets through, then perhaps a zone."""

    def rule(types: tuple[Type, ...], values: tuple[object, ...]) -> BadConstant | None:
        try:
            check(str(values[1]), types, len(values) > 2)
        except BadWord as bad:
            return BadConstant(1, bad.reason, bad.hint)
        return zoned(2)(types, values)

    return rule


def read_by(text: str, types: tuple[Type, ...], zone: bool) -> None:
    """BadWord where no moment can be read by the pattern."""
    if "z" in layout_of(text).fields and zone:
        raise BadWord('the text says its offset by "%z", and a zone is given', "Leave one of them out.")


def written_by(text: str, types: tuple[Type, ...], zone: bool) -> None:
    """BadWord where the value cannot be written by the pattern."""
    check_format(text, of_date=isinstance(types[0], Date))


def part(name: str, meaning: str, *, of_dates: bool = True) -> Function:
    """A number that the calendar or the clock says of a moment or day."""
    rules: list[Rule] = [
        fixed(INT, TIMESTAMP),
        *([fixed(INT, DATE)] if of_dates else []),
        fixed(INT, TIMESTAMP, STRING),
    ]
    return Function(
        name,
        f"{name}(t[, zone])",
        first(*rules),
        meaning,
        failures=(Failure.OVERFLOW,),
        constants=(1,),
        bad_constant=zoned(1),
    )


PARTS = (
    part("year", "the year, 1 to 9999"),
    part("quarter", "the quarter, 1 to 4"),
    part("month", "the month, 1 to 12"),
    part("week", "the week of ISO 8601, 1 to 53: that of the year's first Thursday is week 1"),
    part("week_year", "the year to which the week of ISO 8601 belongs"),
    part("day", "the day of the month, from 1"),
    part("day_of_week", "the day of the week, Monday = 1 to Sunday = 7"),
    part("day_of_year", "the day of the year, from 1"),
    part("hour", "the hour, 0 to 23", of_dates=False),
    part("minute", "the minute, 0 to 59", of_dates=False),
    part("second", "the second, 0 to 59", of_dates=False),
    part("microsecond", "the microseconds within the second, 0 to 999999", of_dates=False),
)

NUMBERS = (
    Function(
        "to_micros",
        "to_micros(t)",
        first(fixed(INT, TIMESTAMP), fixed(INT, DURATION)),
        "microseconds since 1970, or of the duration",
    ),
    Function("from_micros", "from_micros(n)", fixed(TIMESTAMP, INT), "the timestamp so many microseconds after 1970"),
    Function(
        "to_millis",
        "to_millis(t)",
        first(fixed(INT, TIMESTAMP), fixed(INT, DURATION)),
        "whole milliseconds since 1970, or of the duration, rounded towards minus infinity",
    ),
    Function(
        "from_millis",
        "from_millis(n)",
        fixed(TIMESTAMP, INT),
        "the timestamp so many milliseconds after 1970",
        failures=(Failure.OVERFLOW,),
    ),
    Function(
        "to_seconds",
        "to_seconds(t)",
        first(fixed(FLOAT, TIMESTAMP), fixed(FLOAT, DURATION)),
        "seconds since 1970, or of the duration: the microseconds as a float, divided by a million",
    ),
    Function(
        "from_seconds",
        "from_seconds(n)",
        first(fixed(TIMESTAMP, INT), fixed(TIMESTAMP, FLOAT)),
        "the timestamp so many seconds after 1970; a float is rounded exactly to the nearest microsecond, half to even; NaN and infinity are bad_cast",
        failures=(Failure.BAD_CAST, Failure.OVERFLOW),
    ),
    Function(
        "to_duration",
        "to_duration(n)",
        first(fixed(DURATION, INT), fixed(DURATION, FLOAT)),
        "the duration of so many seconds; a float is rounded as by from_seconds",
        failures=(Failure.BAD_CAST, Failure.OVERFLOW),
    ),
)

CALENDAR = (
    Function(
        "truncate",
        "truncate(t, unit)",
        fixed(TIMESTAMP, TIMESTAMP, DURATION),
        "the last multiple of unit since 1970 that is not after t; fails for a unit that is not positive",
        failures=(Failure.ZERO_DIVISOR,),
    ),
    Function(
        "truncate_to",
        "truncate_to(t, unit[, zone])",
        first(
            fixed(TIMESTAMP, TIMESTAMP, STRING), fixed(DATE, DATE, STRING), fixed(TIMESTAMP, TIMESTAMP, STRING, STRING)
        ),
        f'the beginning of the unit of the calendar that t lies in: one of "{", ".join(UNITS)}"; weeks begin on Monday, days at midnight of the zone; of a date, one of days or longer',
        failures=(Failure.OVERFLOW,),
        constants=(1, 2),
        bad_constant=unit,
    ),
    Function(
        "add_months",
        "add_months(t, n)",
        first(fixed(TIMESTAMP, TIMESTAMP, INT), fixed(DATE, DATE, INT)),
        "n months later, or earlier for a negative n; a day that the month has not becomes its last day",
        failures=(Failure.OVERFLOW,),
    ),
    Function("add_days", "add_days(d, n)", fixed(DATE, DATE, INT), "n days later", failures=(Failure.OVERFLOW,)),
    Function("days_between", "days_between(start, end)", fixed(INT, DATE, DATE), "the days from start to end"),
    Function(
        "date_of",
        "date_of(year, month, day)",
        fixed(DATE, INT, INT, INT),
        "that day; fails where the calendar has none",
        failures=(Failure.OUT_OF_RANGE,),
    ),
    Function(
        "timestamp_of",
        "timestamp_of(year, month, day, hour, minute, second[, zone])",
        first(fixed(TIMESTAMP, *[INT] * 6), fixed(TIMESTAMP, *[INT] * 6, STRING)),
        "that moment; fails where the calendar or the clock has none",
        failures=(Failure.OUT_OF_RANGE, Failure.OVERFLOW),
        constants=(6,),
        bad_constant=zoned(6),
    ),
)

TEXTS = (
    Function(
        "to_date",
        "to_date(t[, zone])",
        first(fixed(DATE, TIMESTAMP), fixed(DATE, STRING), fixed(DATE, TIMESTAMP, STRING)),
        "the day of a timestamp; of a text such as 2026-01-02",
        failures=(Failure.BAD_CAST, Failure.OVERFLOW),
        constants=(1,),
        bad_constant=zoned(1),
    ),
    Function(
        "to_timestamp",
        "to_timestamp(d[, zone])",
        first(fixed(TIMESTAMP, DATE), fixed(TIMESTAMP, STRING), fixed(TIMESTAMP, DATE, STRING)),
        "midnight of a date; of a text of ISO 8601: 2026-01-02, then perhaps T or a space and 03:04, :05, .000006, and Z or an offset such as +01:00, else UTC; digits behind the microseconds are cut",
        failures=(Failure.BAD_CAST, Failure.OVERFLOW),
        constants=(1,),
        bad_constant=zoned(1),
    ),
    Function(
        "parse_time",
        "parse_time(s, pattern[, zone])",
        first(fixed(TIMESTAMP, STRING, STRING), fixed(TIMESTAMP, STRING, STRING, STRING)),
        "the moment in a text, by Python's directives %Y %m %d %H %M %S %f %j %b %z and %%; all else stands for itself, also white space; what is not said of the time of day is 0; years have four digits, months English names",
        failures=(Failure.BAD_CAST, Failure.OVERFLOW),
        constants=(1, 2),
        bad_constant=pattern(read_by),
    ),
    Function(
        "format_time",
        "format_time(t, pattern[, zone])",
        first(fixed(STRING, TIMESTAMP, STRING), fixed(STRING, DATE, STRING), fixed(STRING, TIMESTAMP, STRING, STRING)),
        "the moment or day as text, by the directives of parse_time",
        failures=(Failure.OVERFLOW,),
        constants=(1, 2),
        bad_constant=pattern(written_by),
    ),
)

TABLE = (*CALENDAR, *PARTS, *NUMBERS, *TEXTS)
