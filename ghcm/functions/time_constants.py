"""The constants that functions of time are given: zones, units, patterns, days and moments. Which of them can be, and
what to write instead of those that cannot.
"""

from collections.abc import Callable

from ghcm.errors import suggest
from ghcm.functions.table import BadConstant, ConstantRule
from ghcm.types import Date, String, Timestamp, Type
from ghcm.values.timestamps import DATE_UNITS, UNITS, BadWord, check_format, how_written, layout_of, read_time, zones


def zoned(index: int) -> ConstantRule:
    """That argument, if it is given, is a time zone."""

    def rule(types: tuple[Type, ...], values: tuple[object, ...]) -> BadConstant | None:
        zone = values[index] if index < len(values) else "UTC"
        if zone in zones():
            return None
        hint = suggest(str(zone), zones()) or 'Zones are called as in "Europe/Berlin" and "UTC".'
        return BadConstant(index, f'there is no time zone "{zone}"', hint)

    return rule


def readable(to: Date | Timestamp) -> ConstantRule:
    """A text, where it is constant, is a day or moment; then perhaps a zone."""

    def rule(types: tuple[Type, ...], values: tuple[object, ...]) -> BadConstant | None:
        text = values[0] if isinstance(types[0], String) else None
        if isinstance(text, str) and read_time(text, to) is None:
            return BadConstant(0, f'"{text}" is no {to}', how_written(to))
        return zoned(1)(types, values)

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
