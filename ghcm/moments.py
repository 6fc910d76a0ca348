"""Timestamps and dates as text, and back: ISO 8601 in the proleptic Gregorian calendar, for every 64-bit moment.

Python's own calendar ends at the year 9999; a canonical timestamp does not.
"""

from __future__ import annotations

import re
from typing import NoReturn

from ghcm.types import INT_MAX, INT_MIN

_MICROS = 1_000_000
_DAY = 86_400 * _MICROS
_TIMESTAMP = re.compile(r"([+-]\d+|\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,6}))?Z", re.ASCII)
_DATE = re.compile(r"([+-]\d+|\d{4})-(\d\d)-(\d\d)", re.ASCII)


def timestamp_text(micros: int) -> str:
    """A moment as ISO 8601 with six decimals; years outside 0 to 9999 carry a sign.

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
    raise ValueError(f'expected {expected}, found "{text if len(text) <= 60 else text[:57] + "..."}"')
