"""Moments as microseconds since 1970, of the years 1 to 9999, and seconds and milliseconds as these, as SQL."""

from __future__ import annotations

from ghcm.codegen.spark.library.sql import bound, fails, text, when
from ghcm.codegen.spark.sql import Checked, all_of, given, overflows, partial, pure, variable

FIRST_MICROS = -62135596800000000
LAST_MICROS = 253402300799999999
FIRST_DAY = -719162
LAST_DAY = 2932896
DAY = 86400000000
LEAVES = "it leads out of the years 1 to 9999"


def micros(a: Checked) -> Checked:
    """Microseconds since 1970."""
    return Checked(f"unix_micros({a})", a.error, a.nullable)


def from_micros(a: Checked) -> Checked:
    """The moment so many microseconds after 1970."""
    return pure(f"timestamp_micros({a})", a)


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


def whole_millis(a: Checked) -> Checked:
    """Whole milliseconds of microseconds, rounded towards minus infinity."""
    return pure(f"({a} div 1000L - {when(f'{a} % 1000L < 0', '1L', '0L')})", a)


def from_millis(a: Checked) -> Checked:
    """The moment so many milliseconds after 1970."""
    return known(f"timestamp_micros({micros_of_units(a.value, 1000, FIRST_MICROS, LAST_MICROS)})", a)


def moment_of_seconds(a: Checked) -> Checked:
    """The moment so many seconds after 1970."""
    return known(f"timestamp_micros({micros_of_units(a.value, 1000000, FIRST_MICROS, LAST_MICROS)})", a)


def duration_of_seconds(a: Checked) -> Checked:
    """A duration of whole seconds."""
    value = f"try_multiply({a}, 1000000L)"
    return partial(value, (a,), overflows(value, a))


def micros_of_units(value: str, size: int, least: int, greatest: int) -> str:
    """So many units as microseconds, null where they are less or more."""
    return when(f"{value} BETWEEN {-(-least // size)}L AND {greatest // size}L", f"{value} * {size}L")


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


def day_of(value: str) -> str:
    """The date of what clocks show."""
    return f"date(timestamp_micros({value}))"


def date_inside(a: Checked) -> str:
    """A date, null outside of the years 1 to 9999."""
    return when(f"unix_date({a}) BETWEEN {FIRST_DAY} AND {LAST_DAY}", a.value)
