"""Moments, days, calendar and clocks as SQL, where no text of the table can say it.

Moments are microseconds since 1970, of the years 1 to 9999. Texts of them stand in `time_texts`.
"""

from ghcm.codegen.spark.functions.emitting import Emit, Writer, by_kind, constant_text, kind, plain
from ghcm.codegen.spark.library.sql import bound, fails, text, when
from ghcm.codegen.spark.names import variable
from ghcm.codegen.spark.sql import Checked, all_of, given, partial
from ghcm.expr import Call
from ghcm.types import Date, Float, Timestamp
from ghcm.values.timestamps import FIRST_DAY, FIRST_MICROS, LAST_DAY, LAST_MICROS

DAY = 86400000000
LEAVES = "it leads out of the years 1 to 9999"


def known(value: str, *arguments: Checked) -> Checked:
    """A value that is null where the years 1 to 9999 are left."""
    return partial(value, arguments, fails(all_of(f"{value} IS NULL", *given(*arguments)), "overflow", LEAVES))


def moment_inside(value: str) -> str:
    """The moment, null outside of the years 1 to 9999."""
    return when(f"{value} BETWEEN {FIRST_MICROS}L AND {LAST_MICROS}L", value)


def day_inside(value: str) -> str:
    """The number of a day, null outside of the years 1 to 9999."""
    return when(f"{value} BETWEEN {FIRST_DAY} AND {LAST_DAY}", value)


def shown(value: str, zone: str | None) -> str:
    """What the clocks of a zone show at a moment; null outside of the years 1 to 9999."""
    return moment_inside(value) if zone is None else f"clocks_at({value}, {text(zone)})"


def moment(value: str, zone: str | None) -> str:
    """The moment at which clocks show it; null outside of the years 1 to 9999."""
    return value if zone is None else f"moment_of_clocks({value}, {text(zone)})"


def day_of(value: str) -> str:
    """The date of what clocks show."""
    return f"date(timestamp_micros({value}))"


def date_inside(a: Checked) -> str:
    """A date, null outside of the years 1 to 9999."""
    return when(f"unix_date({a}) BETWEEN {FIRST_DAY} AND {LAST_DAY}", a.value)


def time_of(writer: Writer, call: Call) -> Checked:
    """The first argument: a date, or the microseconds of a timestamp."""
    a = writer.emit(call.arguments[0])
    return Checked(f"unix_micros({a})", a.error, a.nullable) if isinstance(kind(call), Timestamp) else a


def zone_of(call: Call, index: int) -> str | None:
    """The time zone that an argument names, unless it is UTC."""
    name = constant_text(call, index) if index < len(call.arguments) else "UTC"
    return None if name == "UTC" else name


def day_in(call: Call, a: Checked, zone: str | None = None) -> str:
    """The date that the first argument is, or that calendars of a zone show; null outside of the years 1 to 9999."""
    return date_inside(a) if isinstance(kind(call), Date) else day_of(shown(a.value, zone))


# --- seconds ---------------------------------------------------------------------------------------------------------


def moment_of_float(a: Checked) -> Checked:
    """The moment so many seconds after 1970, to the nearest microsecond, half to even."""
    fits = f"{a} >= {FIRST_MICROS / 1000000}D AND {a} < {(LAST_MICROS + 1) / 1000000}D"
    value = rounded(when(fits, a.value))
    return partial(f"timestamp_micros({value})", (a,), *no_seconds(a, fits))


def duration_of_float(a: Checked) -> Checked:
    """The duration of so many seconds, to the nearest microsecond, half to even."""
    fits = f"abs({a}) <= 9223372036854.775D"
    return partial(rounded(when(fits, a.value)), (a,), *no_seconds(a, fits))


def no_seconds(a: Checked, fits: str) -> tuple[str, str]:
    """The errors where a float is no number of seconds, or too many."""
    endless = fails(f"isnan({a}) OR abs({a}) = double('inf')", "bad_cast", "it is no number of seconds")
    return endless, fails(f"{a} IS NOT NULL AND NOT ({fits})", "overflow", "these are too many seconds")


def rounded(value: str) -> str:
    """Seconds as microseconds, to the nearest, half to even.

    The product of the fraction and a million is taken exactly, as a float and the error of that float (Dekker): beside
    a half the error decides.
    """
    size, rest = variable("size"), variable("rest")
    high = f"(134217729.0D * {rest} - (134217729.0D * {rest} - {rest}))"
    error = f"(({high} * 1000000.0D - {rest} * 1000000.0D) + ({rest} - {high}) * 1000000.0D)"
    floor = f"floor({rest} * 1000000.0D)"
    half = f"({rest} * 1000000.0D - double({floor}))"
    tie = f"{error} > 0.0D OR ({error} = 0.0D AND {floor} % 2L = 1L)"
    up = when(f"{half} > 0.5D OR ({half} = 0.5D AND ({tie}))", "1L", "0L")
    whole = f"bigint(floor({size})) * 1000000L"
    micros = f"{whole} + {bound(f'{size} - double(floor({size}))', rest, f'{floor} + {up}')}"
    return f"{when(f'{value} < 0', '-1L', '1L')} * {bound(f'abs({value})', size, micros)}"


# --- calendar and clocks ---------------------------------------------------------------------------------------------

PARTS = {
    "year": "year({0})",
    "quarter": "quarter({0})",
    "month": "month({0})",
    "week": "weekofyear({0})",
    "week_year": "extract(YEAROFWEEK FROM {0})",
    "day": "day({0})",
    "day_of_week": "(weekday({0}) + 1)",
    "day_of_year": "dayofyear({0})",
}
CLOCK_PARTS = {
    "hour": "hour(timestamp_micros({0}))",
    "minute": "minute(timestamp_micros({0}))",
    "second": "second(timestamp_micros({0}))",
    "microsecond": "pmod({0}, 1000000L)",
    "time_of_day": f"pmod({{0}}, {DAY}L)",
}


def _part(writer: Writer, call: Call) -> Checked:
    """What the calendar says of a day, or calendar and clock show at a moment."""
    a, zone = time_of(writer, call), zone_of(call, 1)
    if call.function in PARTS:
        return known(f"bigint({PARTS[call.function].format(day_in(call, a, zone))})", a)
    return known(f"bigint({CLOCK_PARTS[call.function].format(shown(a.value, zone))})", a)


_CLOCK_UNITS = {"second": 1000000, "minute": 60000000, "hour": 3600000000}


def _truncate_to(writer: Writer, call: Call) -> Checked:
    """The beginning of a unit; weeks begin on Monday."""
    a, unit, zone = time_of(writer, call), constant_text(call, 1), zone_of(call, 2)
    if unit in _CLOCK_UNITS:
        start = f"({a} - pmod({shown(a.value, zone)}, {_CLOCK_UNITS[unit]}L))"
        return known(f"timestamp_micros({moment_inside(start)})", a)
    day = day_in(call, a, zone)
    first = day if unit == "day" else f"trunc({day}, {text(unit.upper())})"
    return known(first if isinstance(kind(call), Date) else midnight(first, zone), a)


def midnight(day: str, zone: str | None) -> str:
    """The moment at which a date begins."""
    return f"timestamp_micros({moment(f'(unix_date({day}) * {DAY}L)', zone)})"


def _add_months(writer: Writer, call: Call) -> Checked:
    """The time so many months later, null outside of the years 1 to 9999; 200,000 months lead out of all years."""
    a, months = time_of(writer, call), writer.emit(call.arguments[1])
    day, few = day_in(call, a), f"int(least(greatest({months}, -200000L), 200000L))"
    number = f"(year({day}) * 12 + month({day}) - 1 + {few})"
    moved = when(f"{months} IS NOT NULL AND {number} BETWEEN 12 AND 119999", f"add_months({day}, {few})")
    if isinstance(kind(call), Date):
        return known(moved, a, months)
    return known(f"timestamp_micros(unix_date({moved}) * {DAY}L + pmod({a}, {DAY}L))", a, months)


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


def _timestamp_of(writer: Writer, call: Call) -> Checked:
    """The moment at which calendar and clock show this."""
    zone = zone_of(call, 6)
    year, month, day, hour, minute, second = arguments = [writer.emit(each) for each in call.arguments[:6]]
    clock = f"{hour} BETWEEN 0 AND 23 AND {minute} BETWEEN 0 AND 59 AND {second} BETWEEN 0 AND 59"
    seconds = f"(({hour} * 60L + {minute}) * 60L + {second})"
    there = when(clock, f"(unix_date({of_numbers(year, month, day)}) * 86400L + {seconds}) * 1000000L")
    value = moment(f"({there})", zone)
    left = fails(f"{value} IS NULL AND ({there}) IS NOT NULL", "overflow", LEAVES)
    errors = [no_such(f"({there})", *arguments), *([left] if zone else [])]
    return partial(f"timestamp_micros({value})", arguments, *errors)


EMITTERS: dict[str, Emit] = {
    "truncate_to": _truncate_to,
    "add_months": _add_months,
    "add_days": plain(days_after),
    "date_of": plain(date_of),
    "timestamp_of": _timestamp_of,
    **dict.fromkeys((*PARTS, *CLOCK_PARTS), _part),
    "from_seconds": by_kind({Float: plain(moment_of_float)}),
    "to_duration": by_kind({Float: plain(duration_of_float)}),
}
