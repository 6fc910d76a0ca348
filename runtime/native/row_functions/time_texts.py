"""Moments as text in generated row code: reading and writing by patterns, and by ISO 8601."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import NoReturn

from ghcm.functions import Failure
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.native.zones import EPOCH, local_of, offset_at, offset_of_local
from ghcm.values.timestamps import (
    FIRST_DAY,
    FIRST_MICROS,
    ISO_DATE,
    ISO_TIMESTAMP,
    LAST_MICROS,
    MONTHS,
    Directive,
    Layout,
    layout_of,
    pieces_of,
)

_DAY, _SECOND = 86_400_000_000, 1_000_000
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
        if not FIRST_MICROS <= micros <= LAST_MICROS:
            raise RecordFailure(Failure.OVERFLOW, f'"{text[:100]}" is outside of the years 1 to 9999')
        return micros

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
            raise RecordFailure(Failure.OVERFLOW, f"{value} is outside of the years 1 to 9999") from None
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
