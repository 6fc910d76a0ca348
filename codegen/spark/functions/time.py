"""Calendar and clocks as SQL."""

from __future__ import annotations

from collections.abc import Callable

from ghcm.codegen.spark.functions.emitting import Emit, Writer, by_kind, constant_text, kind, plain
from ghcm.codegen.spark.functions.time_numbers import (
    DAY,
    LEAVES,
    date_inside,
    day_inside,
    day_of,
    duration_of_float,
    duration_of_seconds,
    from_millis,
    known,
    micros,
    moment,
    moment_inside,
    moment_of_float,
    moment_of_seconds,
    shown,
    whole_millis,
)
from ghcm.codegen.spark.functions.time_texts import read_date, read_time, write_date, write_time
from ghcm.codegen.spark.library.sql import fails, text, when
from ghcm.codegen.spark.sql import Checked, all_of, given, partial
from ghcm.expr import Call
from ghcm.types import Date, Float, String, Timestamp
from ghcm.values.timestamps import DATE_UNITS, ISO_DATE, ISO_TIMESTAMP, layout_of, pieces_of


def truncate(a: Checked, unit: Checked) -> Checked:
    """The last multiple of the unit since 1970 that is not after the timestamp."""
    moment = f"unix_micros({a})"
    value = f"try_subtract({moment}, pmod({moment}, {when(f'{unit} > 0', unit.value)}))"
    positive = fails(f"{a} IS NOT NULL AND {unit} <= 0", "zero_divisor", "the unit is not positive")
    before_first = f"{value} IS NULL AND {a} IS NOT NULL AND {unit} > 0"
    return partial(
        f"timestamp_micros({value})", (a, unit), positive, fails(before_first, "overflow", "before the first timestamp")
    )


PARTS = {
    "year": "year({0})",
    "quarter": "quarter({0})",
    "month": "month({0})",
    "week": "weekofyear({0})",
    "week_year": "extract(YEAROFWEEK FROM {0})",
    "day": "day({0})",
    "day_of_week": "(weekday({0}) + 1)",
    "day_of_year": "dayofyear({0})",
    "hour": "hour(timestamp_micros({0}))",
    "minute": "minute(timestamp_micros({0}))",
    "second": "second(timestamp_micros({0}))",
    "microsecond": "pmod({0}, 1000000L)",
}


def part_of_time(a: Checked, name: str, zone: str | None = None) -> Checked:
    """What calendar or clock show at a moment."""
    there = shown(a.value, zone)
    of = there if name in ("hour", "minute", "second", "microsecond") else day_of(there)
    return known(f"bigint({PARTS[name].format(of)})", a)


def part_of_date(a: Checked, name: str) -> Checked:
    """What the calendar says of a date."""
    return known(f"bigint({PARTS[name].format(date_inside(a))})", a)


def clock_start(a: Checked, unit: str, zone: str | None = None) -> Checked:
    """The beginning of the second, minute or hour."""
    size = {"second": 1000000, "minute": 60000000, "hour": 3600000000}[unit]
    start = f"({a} - pmod({shown(a.value, zone)}, {size}L))"
    return known(f"timestamp_micros({moment_inside(start)})", a)


def day_start(a: Checked, unit: str, zone: str | None = None) -> Checked:
    """The beginning of the day, or of a longer unit."""
    first = f"(unix_date({first_day(day_of(shown(a.value, zone)), unit)}) * {DAY}L)"
    return known(f"timestamp_micros({moment(first, zone)})", a)


def date_start(a: Checked, unit: str) -> Checked:
    """The first day of the unit."""
    return known(first_day(date_inside(a), unit), a)


def first_day(day: str, unit: str) -> str:
    """The first date of a unit; weeks begin on Monday."""
    return day if unit == "day" else f"trunc({day}, {text(unit.upper())})"


def months_after(a: Checked, months: Checked) -> Checked:
    """The moment so many months after one."""
    day = moved(day_of(moment_inside(a.value)), months.value)
    return known(f"timestamp_micros(unix_date({day}) * {DAY}L + pmod({a}, {DAY}L))", a, months)


def months_after_date(a: Checked, months: Checked) -> Checked:
    """The date so many months after one."""
    return known(moved(date_inside(a), months.value), a, months)


def moved(day: str, months: str) -> str:
    """A date so many months later, null outside of the years 1 to 9999; 200,000 months lead out of all years."""
    few = f"int(least(greatest({months}, -200000L), 200000L))"
    number = f"(year({day}) * 12 + month({day}) - 1 + {few})"
    return when(f"{months} IS NOT NULL AND {number} BETWEEN 12 AND 119999", f"add_months({day}, {few})")


def days_after(a: Checked, days: Checked) -> Checked:
    """The date so many days after one."""
    few = f"least(greatest({days}, -8589934592L), 8589934592L)"
    later = f"(bigint(unix_date({a})) + {when(f'{days} IS NOT NULL', few)})"
    return known(f"date_from_unix_date(int({day_inside(later)}))", a, days)


def of_numbers(year: Checked, month: Checked, day: Checked) -> str:
    """The date that the calendar calls so, or null."""
    ranges = f"{year} BETWEEN 1 AND 9999 AND {month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND 31"
    return when(ranges, f"make_date(int({year}), int({month}), int({day}))")


def no_such(value: str, *arguments: Checked) -> str:
    """The error where numbers give no time."""
    return fails(all_of(f"{value} IS NULL", *given(*arguments)), "out_of_range", "there is no such day or time of day")


def date_of(year: Checked, month: Checked, day: Checked) -> Checked:
    """The date that the calendar calls so."""
    value = of_numbers(year, month, day)
    return partial(value, (year, month, day), no_such(value, year, month, day))


def timestamp_of(
    year: Checked,
    month: Checked,
    day: Checked,
    hour: Checked,
    minute: Checked,
    second: Checked,
    zone: str | None = None,
) -> Checked:
    """The moment at which calendar and clock show this."""
    arguments = (year, month, day, hour, minute, second)
    clock = f"{hour} BETWEEN 0 AND 23 AND {minute} BETWEEN 0 AND 59 AND {second} BETWEEN 0 AND 59"
    seconds = f"(({hour} * 60L + {minute}) * 60L + {second})"
    there = when(clock, f"(unix_date({of_numbers(year, month, day)}) * 86400L + {seconds}) * 1000000L")
    value = moment(f"({there})", zone)
    left = fails(f"{value} IS NULL AND ({there}) IS NOT NULL", "overflow", LEAVES)
    errors = [no_such(f"({there})", *arguments), *([left] if zone else [])]
    return partial(f"timestamp_micros({value})", arguments, *errors)


def day_at(a: Checked, zone: str | None = None) -> Checked:
    """The date of a moment."""
    return known(day_of(shown(a.value, zone)), a)


def date_midnight(a: Checked, zone: str | None = None) -> Checked:
    """The moment at which a date begins."""
    return known(f"timestamp_micros({moment(f'(unix_date({date_inside(a)}) * {DAY}L)', zone)})", a)


def _zone(call: Call, index: int) -> str | None:
    """The time zone that an argument names, unless it is UTC."""
    name = constant_text(call, index) if index < len(call.arguments) else "UTC"
    return None if name == "UTC" else name


def _first(writer: Writer, call: Call) -> Checked:
    """The first argument; a timestamp as microseconds."""
    given = writer.emit(call.arguments[0])
    return micros(given) if isinstance(kind(call), Timestamp) else given


def _part(name: str) -> Emit:
    def emit(writer: Writer, call: Call) -> Checked:
        if isinstance(kind(call), Date):
            return part_of_date(writer.emit(call.arguments[0]), name)
        return part_of_time(_first(writer, call), name, _zone(call, 1))

    return emit


def _truncate_to(writer: Writer, call: Call) -> Checked:
    unit = constant_text(call, 1)
    if isinstance(kind(call), Date):
        return date_start(writer.emit(call.arguments[0]), unit)
    return (day_start if unit in DATE_UNITS else clock_start)(_first(writer, call), unit, _zone(call, 2))


def _add_months(writer: Writer, call: Call) -> Checked:
    moved_by = months_after_date if isinstance(kind(call), Date) else months_after
    return moved_by(_first(writer, call), writer.emit(call.arguments[1]))


def _timestamp_of(writer: Writer, call: Call) -> Checked:
    year, month, day, hour, minute, second = map(writer.emit, call.arguments[:6])
    return timestamp_of(year, month, day, hour, minute, second, _zone(call, 6))


def _on_micros(write: Callable[[Checked], Checked]) -> Emit:
    return lambda writer, call: write(_first(writer, call))


def _to_date(writer: Writer, call: Call) -> Checked:
    if isinstance(kind(call), String):
        return read_date(writer.emit(call.arguments[0]), ISO_DATE.regex, "".join(ISO_DATE.fields))
    return day_at(_first(writer, call), _zone(call, 1))


def _to_timestamp(writer: Writer, call: Call) -> Checked:
    given = writer.emit(call.arguments[0])
    if isinstance(kind(call), String):
        return read_time(given, ISO_TIMESTAMP.regex, "".join(ISO_TIMESTAMP.fields))
    return date_midnight(given, _zone(call, 1))


def _parse_time(writer: Writer, call: Call) -> Checked:
    layout = layout_of(constant_text(call, 1))
    return read_time(writer.emit(call.arguments[0]), layout.regex, "".join(layout.fields), _zone(call, 2))


def _format_time(writer: Writer, call: Call) -> Checked:
    pieces = pieces_of(constant_text(call, 1))
    if isinstance(kind(call), Date):
        return write_date(writer.emit(call.arguments[0]), pieces)
    return write_time(_first(writer, call), pieces, _zone(call, 2))


EMITTERS: dict[str, Emit] = {
    "truncate": plain(truncate),
    "truncate_to": _truncate_to,
    "add_months": _add_months,
    "add_days": plain(days_after),
    "date_of": plain(date_of),
    "timestamp_of": _timestamp_of,
    **{name: _part(name) for name in PARTS},
    "to_millis": _on_micros(whole_millis),
    "from_millis": plain(from_millis),
    "from_seconds": by_kind({Float: plain(moment_of_float)}, plain(moment_of_seconds)),
    "to_duration": by_kind({Float: plain(duration_of_float)}, plain(duration_of_seconds)),
    "to_date": _to_date,
    "to_timestamp": _to_timestamp,
    "parse_time": _parse_time,
    "format_time": _format_time,
}
