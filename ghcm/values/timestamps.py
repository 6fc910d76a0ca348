"""Timestamps and dates as text, and back, and the words with which time is asked for: units, time zones, patterns.

The text is ISO 8601 in the proleptic Gregorian calendar, for every 64-bit timestamp; Python's own calendar ends at the
year 9999. The table of functions checks the words before anything runs, and engines read patterns by the layouts made
here; what they read lies in the years 1 to 9999. This module computes no times.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import NoReturn
from zoneinfo import available_timezones

from ghcm.types import INT_MAX, INT_MIN, Date, Timestamp
from ghcm.values.texts import shown

_MICROS = 1_000_000
_DAY = 86_400 * _MICROS
_TIMESTAMP = re.compile(r"([+-]\d+|\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?Z", re.ASCII)
_DATE = re.compile(r"([+-]\d+|\d{4})-(\d\d)-(\d\d)", re.ASCII)


def timestamp_text(micros: int) -> str:
    """A timestamp as ISO 8601 with six decimals; years outside 0 to 9999 carry a sign.

    >>> timestamp_text(-1)
    '1969-12-31T23:59:59.999999Z'
    """
    days, rest = divmod(micros, _DAY)
    seconds, fraction = divmod(rest, _MICROS)
    return f"{date_text(days)}T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:06d}Z"


def date_text(days: int) -> str:
    """A day as `2026-01-02` in the proleptic Gregorian calendar; years outside 0 to 9999 carry a sign."""
    era, day_of_era = divmod(days + 719_468, 146_097)  # eras of 400 years that start on 1 March
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = year_of_era + era * 400 + (month <= 2)
    text = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"
    return f"{text}-{month:02d}-{day_of_year - (153 * shifted + 2) // 5 + 1:02d}"


def parse_timestamp(text: str) -> int:
    """The inverse of `timestamp_text`; one to six decimals, or none, are read. ValueError for anything else."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        _refuse("timestamp such as 2026-01-02T03:04:05.000006Z", text)
    days = _days(found[1], found[2], found[3], text)
    hour, minute, second = int(found[4]), int(found[5]), int(found[6])
    if hour > 23 or minute > 59 or second > 59:
        _refuse("timestamp", text)
    micros = ((days * 24 + hour) * 60 + minute) * 60 + second
    micros = micros * _MICROS + int((found[7] or "").ljust(6, "0"))
    if not INT_MIN <= micros <= INT_MAX:
        raise ValueError(f"{text} does not fit into timestamp")
    return micros


def parse_date(text: str) -> int:
    """The inverse of `date_text`; ValueError for anything else."""
    found = _DATE.fullmatch(text)
    if found is None:
        _refuse("date such as 2026-01-02", text)
    return _days(found[1], found[2], found[3], text)


def _days(year_text: str, month_text: str, day_text: str, text: str) -> int:
    if len(year_text) > 10:
        _refuse("date", text)
    year, month, day = int(year_text), int(month_text), int(day_text)
    if not 1 <= month <= 12 or day < 1:
        _refuse("date", text)
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    days = era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468
    if date_text(days).rsplit("-", 2)[1:] != [month_text, day_text]:  # 30 February
        _refuse("date", text)
    return days


def _refuse(expected: str, text: str) -> NoReturn:
    raise ValueError(f'expected {expected}, found "{shown(text)}"')


UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
DATE_UNITS = UNITS[3:]
"""The units that a date has."""

FIRST_MICROS, LAST_MICROS = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The first and the last microsecond of the years 1 to 9999, since 1970."""
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""The first and the last day of these years, since 1970."""

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_READ = {
    "Y": "[0-9]{4}",
    "m": "1[0-2]|0[1-9]|[1-9]",
    "d": "3[01]|[12][0-9]|0[1-9]|[1-9]",
    "j": "36[0-6]|3[0-5][0-9]|[12][0-9][0-9]|0[1-9][0-9]|00[1-9]|[1-9][0-9]|0[1-9]|[1-9]",
    "b": "|".join("".join(f"[{char.upper()}{char.lower()}]" for char in month) for month in MONTHS),
    "H": "2[0-3]|[01][0-9]|[0-9]",
    "M": "[0-5][0-9]|[0-9]",
    "S": "6[01]|[0-5][0-9]|[0-9]",
    "f": "[0-9]{1,6}",
    "z": "[+-](?:2[0-3]|[01][0-9]):?[0-5][0-9]|Z",
}
"""What each directive reads, in what Python, Java and Rust read alike. Ranges are as in Python's `strptime`."""

_CLOCK = frozenset("HMSfz")
_PUNCTUATION = frozenset("\\.+*?()|[]{}^$")


class BadWord(ValueError):
    """A unit, zone or pattern that does not exist: why it is refused, and what would do."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Directive:
    """A part of a timestamp in a pattern, by its letter."""

    letter: str


@dataclass(frozen=True, slots=True)
class Layout:
    """How a text is read: a regular expression for the whole text, and what each of its groups is, by the letters of
    directives. Groups may be missing but for those of the date.
    """

    regex: str
    fields: tuple[str, ...]


@cache
def zones() -> frozenset[str]:
    """The names of the time zones of the IANA data base."""
    return frozenset(available_timezones())


def pieces_of(pattern: str) -> tuple[str | Directive, ...]:
    """The texts and directives of a pattern; BadWord where it has a directive that does not exist.

    >>> pieces_of("%d.%m")
    (Directive(letter='d'), '.', Directive(letter='m'))
    """
    found: list[str | Directive] = []
    text, at = "", 0
    while at < len(pattern):
        letter = pattern[at + 1 : at + 2] if pattern[at] == "%" else ""
        if pattern[at] != "%" or letter == "%":
            text += pattern[at]
        elif letter in _READ and letter:
            found += [text, Directive(letter)] if text else [Directive(letter)]
            text = ""
        else:
            raise BadWord(f'there is no directive "%{letter}"', _advice(letter))
        at += 2 if pattern[at] == "%" else 1
    return (*found, text) if text else tuple(found)


_JAVA = 'Directives are those of Python: "yyyy-MM-dd HH:mm:ss" is written "%Y-%m-%d %H:%M:%S".'


def _advice(letter: str) -> str:
    if not letter:
        return 'A percent sign is written "%%".'
    instead = {"e": "%d", "y": "%Y", "B": "%b", "s": "from_seconds(n)", "T": "%H:%M:%S", "F": "%Y-%m-%d"}
    known = "Directives are %Y %m %d %H %M %S %f %j %b %z and %%."
    return f"{known} Write {instead[letter]}." if letter in instead else known


def check_format(pattern: str, *, of_date: bool) -> None:
    """BadWord where a timestamp, or a date, cannot be written by the pattern."""
    pieces = pieces_of(pattern)
    if pieces == (pattern,) and any(map(str.isalpha, pattern)):
        raise BadWord(f'the pattern has no directive: every moment would be "{pattern}"', _JAVA)
    for piece in pieces:
        if of_date and isinstance(piece, Directive) and piece.letter in _CLOCK:
            raise BadWord(f'a date has no "%{piece.letter}"', "to_timestamp(d) is its midnight.")


@cache
def layout_of(pattern: str) -> Layout:
    """How a text of a pattern is read; BadWord where the pattern does not say one timestamp.

    >>> layout_of("%d/%b/%Y:%H:%M").fields
    ('d', 'b', 'Y', 'H', 'M')
    """
    regex, fields = "", list[str]()
    for piece in pieces_of(pattern):
        if isinstance(piece, str):
            regex += "".join(f"\\{char}" if char in _PUNCTUATION else char for char in piece)
        elif piece.letter in fields:
            raise BadWord(f'"%{piece.letter}" stands there twice')
        else:
            regex += f"({_READ[piece.letter]})"
            fields.append(piece.letter)
    _check_day(frozenset(fields))
    return Layout(regex, tuple(fields))


def _check_day(fields: frozenset[str]) -> None:
    if "Y" not in fields:
        raise BadWord("the pattern has no year", "Add the year to the text and %Y to the pattern." if fields else _JAVA)
    if {"m", "b"} <= fields:
        raise BadWord('the month stands there twice, as "%m" and as "%b"')
    month = fields & {"m", "b"}
    if "j" in fields and (month or "d" in fields):
        raise BadWord("the day of the year stands there beside the month or the day of the month")
    if "j" not in fields and not (month and "d" in fields):
        raise BadWord("the pattern does not say the day", "A day is %m and %d, %b and %d, or %j.")


_ISO_DAY = "([0-9]{4})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_ISO_CLOCK = r"([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.([0-9]{1,9}))?)?"
_ISO_ZONE = "(Z|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?"

ISO_DATE = Layout(_ISO_DAY, ("Y", "m", "d"))
"""Dates of ISO 8601."""
ISO_TIMESTAMP = Layout(f"{_ISO_DAY}(?:[T ]{_ISO_CLOCK}{_ISO_ZONE})?", ("Y", "m", "d", "H", "M", "S", "f", "z"))
"""Timestamps of ISO 8601: a date, and a time of day with an offset from UTC. Digits behind the microseconds are cut."""


def read_time(text: str, to: Date | Timestamp) -> int | None:
    """The day or moment that a constant text is, since 1970, as `to_date` and `to_timestamp` read it; None for others.

    >>> read_time("1970-01-02", Date()), read_time("2026-02-29", Date())
    (1, None)

    >>> read_time("1970-01-01 01:00:00.5+01:00", Timestamp())
    500000
    """
    found = re.fullmatch((ISO_DATE if isinstance(to, Date) else ISO_TIMESTAMP).regex, text)
    try:
        days = parse_date(text[:10]) if found else LAST_DAY + 1
    except ValueError:
        return None
    if found is None or isinstance(to, Date):
        return days if FIRST_DAY <= days <= LAST_DAY else None
    hour, minute, second = (int(each or 0) for each in found.groups()[3:6])
    fraction, zone = (found[7] or "").ljust(6, "0")[:6], found[8] or "Z"
    east = 0 if zone == "Z" else int(f"{zone[0]}1") * (int(zone[1:3]) * 60 + int(zone[3:].lstrip(":") or 0))
    micros = (((days * 24 + hour) * 60 + minute - east) * 60 + second) * _MICROS + int(fraction)
    return micros if FIRST_MICROS <= micros <= LAST_MICROS else None


def how_written(to: Date | Timestamp) -> str:
    """How a constant of such a type is written into a program."""
    return 'A day is written "2026-01-02".' if isinstance(to, Date) else 'A moment is written "2026-01-02T03:04:05Z".'
