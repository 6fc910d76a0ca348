"""Time as text, read and written by a pattern, as SQL."""

import re
from collections.abc import Sequence

from ghcm.codegen.spark.functions.emitting import Emit, Writer, constant_text, kind
from ghcm.codegen.spark.functions.time import (
    DAY,
    LEAVES,
    date_inside,
    day_in,
    day_of,
    known,
    midnight,
    moment,
    moment_inside,
    shown,
    time_of,
    zone_of,
)
from ghcm.codegen.spark.library.sql import bound, fails, matching, text, when
from ghcm.codegen.spark.names import variable
from ghcm.codegen.spark.sql import Checked, partial
from ghcm.expr import Call
from ghcm.types import Date, String
from ghcm.values.timestamps import FIRST_MICROS, ISO_DATE, ISO_TIMESTAMP, LAST_MICROS, Directive, layout_of, pieces_of


def read_date(a: Checked, pattern: str, fields: str) -> Checked:
    """The date that a text holds."""
    parts = variable("parts")
    value = bound(groups(a.value, pattern, fields), parts, f"date_from_unix_date({day_read(parts, fields)})")
    return partial(value, (a,), fails(f"{a} IS NOT NULL AND {value} IS NULL", "bad_cast", "it is no date"))


def read_time(a: Checked, pattern: str, fields: str, zone: str | None = None) -> Checked:
    """The moment that a text holds."""
    parts = variable("parts")
    there = f"bigint({day_read(parts, fields)}) * {DAY}L + {clock_read(parts, fields)}"
    offset = "0L" if "z" not in fields else offset_read(group(parts, fields, "z"))
    local = bound(groups(a.value, pattern, fields), parts, f"{there} - {offset}")
    value = moment(local, zone) if zone else moment_inside(local)
    wrong = fails(f"{a} IS NOT NULL AND {local} IS NULL", "bad_cast", "it is no such moment")
    left = fails(f"{local} IS NOT NULL AND {value} IS NULL", "overflow", LEAVES)
    return partial(f"timestamp_micros({value})", (a,), wrong, left)


def groups(value: str, pattern: str, fields: str) -> str:
    """What the groups of a pattern hold, which is digits, letters, signs and colons; null where it does not match."""
    whole = f"\\A(?:{pattern})\\z"
    listed = "|".join(f"${index}" for index in range(1, len(fields) + 1))
    return when(matching(value, whole), f"split(regexp_replace({value}, {text(whole)}, {text(listed)}), '[|]', -1)")


def group(parts: str, fields: str, letter: str) -> str:
    """The text of a group."""
    return f"get({parts}, {fields.index(letter)})"


def day_read(parts: str, fields: str) -> str:
    """The number of the day that groups say; null where the calendar has none."""
    year = group(parts, fields, "Y")
    if "j" in fields:
        day, first = f"int({group(parts, fields, 'j')})", f"make_date(int({year}), 1, 1)"
        there = f"date_add({first}, {day} - 1)"
        return when(f"int({year}) >= 1 AND year({there}) = int({year})", f"unix_date({there})")
    month = f"int({group(parts, fields, 'm' if 'm' in fields else 'b')})"
    if "m" not in fields:
        names = text("janfebmaraprmayjunjulaugsepoctnovdec")
        month = f"((instr({names}, lower({group(parts, fields, 'b')})) + 2) div 3)"
    numbers = f"int({year}), int({month}), int({group(parts, fields, 'd')})"
    return when(f"int({year}) >= 1", f"unix_date(make_date({numbers}))")


def clock_read(parts: str, fields: str) -> str:
    """The microseconds of the day that groups say; null where there is a 60th second."""
    hour, minute, second = (
        f"coalesce(bigint(nullif({group(parts, fields, letter)}, '')), 0L)" if letter in fields else "0L"
        for letter in "HMS"
    )
    fraction = f"bigint(rpad({group(parts, fields, 'f')}, 6, '0'))" if "f" in fields else "0L"
    return when(f"{second} < 60", f"(({hour} * 60L + {minute}) * 60L + {second}) * 1000000L + {fraction}")


def offset_read(value: str) -> str:
    """The offset in microseconds that `Z`, `+01`, `+01:00` or `+0100` say."""
    minutes = when(f"length({value}) > 3", f"bigint(right({value}, 2))", "0L")
    size = f"(bigint(substring({value}, 2, 2)) * 60L + {minutes}) * 60000000L"
    sign = when(f"{value} LIKE '-%'", "-1L", "1L")
    return when(f"{value} IN ('', 'Z')", "0L", f"{sign} * {size}")


def write_time(a: Checked, pieces: Sequence[str | Directive], zone: str | None = None) -> Checked:
    """The moment as text, made of texts and of directives."""
    pattern = java_pattern(pieces)
    if zone is None and pattern is not None:
        written = f"date_format(timestamp_micros({a}), {text(pattern)})"
        return known(when(f"{a} BETWEEN {FIRST_MICROS}L AND {LAST_MICROS}L", written), a)
    both = variable("shown")
    there = f"get({both}, 0)"
    offset = f"({there} - get({both}, 1))" if zone else "0L"
    return known(bound(f"array({shown(a.value, zone)}, {a})", both, pieces_written(pieces, there, offset)), a)


def java_pattern(pieces: Sequence[str | Directive]) -> str | None:
    """The pattern in which Spark writes the same, if it can: it knows offsets otherwise."""
    letters = {"Y": "yyyy", "m": "MM", "d": "dd", "H": "HH", "M": "mm", "S": "ss", "f": "SSSSSS"}
    if not all(each.letter in letters if isinstance(each, Directive) else True for each in pieces):
        return None
    return "".join(letters[each.letter] if isinstance(each, Directive) else _quoted(each) for each in pieces) or None


def _quoted(piece: str) -> str:
    """A text in a pattern, between quotation marks where it has letters or signs of patterns."""
    plain = re.fullmatch(r"[^A-Za-z'\[\]{}#]*", piece) is not None
    return piece if plain else "'" + piece.replace("'", "''") + "'"


def write_date(a: Checked, pieces: Sequence[str | Directive]) -> Checked:
    """The date as text, made of texts and of directives."""
    there = variable("there")
    return known(bound(f"(unix_date({date_inside(a)}) * {DAY}L)", there, pieces_written(pieces, there, "0L")), a)


def pieces_written(pieces: Sequence[str | Directive], there: str, offset: str) -> str:
    """Pieces one after the other; null where there is no time."""
    parts = [directive(each.letter, there, offset) if isinstance(each, Directive) else text(each) for each in pieces]
    return when(f"{there} IS NOT NULL", f"concat({', '.join(parts)})" if parts else "''")


def directive(letter: str, there: str, offset: str) -> str:
    """A part of what the clocks show, as text."""
    match letter:
        case "Y":
            return f"lpad(string(year({day_of(there)})), 4, '0')"
        case "j":
            return f"lpad(string(dayofyear({day_of(there)})), 3, '0')"
        case "b":
            return f"substring('JanFebMarAprMayJunJulAugSepOctNovDec', month({day_of(there)}) * 3 - 2, 3)"
        case "m" | "d":
            return two({"m": "month", "d": "day"}[letter] + f"({day_of(there)})")
        case "f":
            return f"lpad(string(pmod({there}, 1000000L)), 6, '0')"
        case "z":
            size, sign = f"(abs({offset}) div 1000000L)", f"CASE WHEN {offset} < 0 THEN '-' ELSE '+' END"
            seconds = when(f"{size} % 60L = 0", "''", two(f"{size} % 60L"))
            return f"{sign}, {two(f'{size} div 3600L')}, {two(f'{size} div 60L % 60L')}, {seconds}"
        case _:
            return two({"H": "hour", "M": "minute", "S": "second"}[letter] + f"(timestamp_micros({there}))")


def two(value: str) -> str:
    """A number of two digits."""
    return f"lpad(string({value}), 2, '0')"


def _to_date(writer: Writer, call: Call) -> Checked:
    if isinstance(kind(call), String):
        return read_date(writer.emit(call.arguments[0]), ISO_DATE.regex, "".join(ISO_DATE.fields))
    a = time_of(writer, call)
    return known(day_in(call, a, zone_of(call, 1)), a)


def _to_timestamp(writer: Writer, call: Call) -> Checked:
    a = writer.emit(call.arguments[0])
    if isinstance(kind(call), String):
        return read_time(a, ISO_TIMESTAMP.regex, "".join(ISO_TIMESTAMP.fields))
    return known(midnight(date_inside(a), zone_of(call, 1)), a)


def _parse_time(writer: Writer, call: Call) -> Checked:
    layout = layout_of(constant_text(call, 1))
    return read_time(writer.emit(call.arguments[0]), layout.regex, "".join(layout.fields), zone_of(call, 2))


def _format_time(writer: Writer, call: Call) -> Checked:
    pieces, a = pieces_of(constant_text(call, 1)), time_of(writer, call)
    return write_date(a, pieces) if isinstance(kind(call), Date) else write_time(a, pieces, zone_of(call, 2))


EMITTERS: dict[str, Emit] = {
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "parse_time": _parse_time,
    "format_time": _format_time,
}
