"""What generated columnar code calls: Polars expressions with the language's meaning, and masks of the records that
fail.

A function called `<name>_fails` gives a mask: true where a record fails, false or null where it does not. A value may
be anything where its mask is true: the batch is then done again by rows. Nothing here raises for any data.
"""

from __future__ import annotations

import polars as pl

from ghcm.types import INT_MAX, INT_MIN

__all__ = [
    "CASE_DIFFERS",
    "DURATION",
    "TIMES",
    "TIMESTAMP",
    "WINDOW",
    "absolute_fails",
    "add_fails",
    "any_fails",
    "case_fails",
    "date_to_string",
    "date_to_string_fails",
    "duration",
    "duration_to_string",
    "fill",
    "finite",
    "float_to_int_fails",
    "floordiv_fails",
    "greatest",
    "greatest_float",
    "item",
    "item_fails",
    "later",
    "least",
    "micros",
    "multiply_fails",
    "replace",
    "string_to_float_fails",
    "string_to_int_fails",
    "substring",
    "subtract_fails",
    "timestamp",
    "timestamp_to_string",
    "timestamp_to_string_fails",
    "too_late",
    "truncate",
    "truncate_fails",
    "window",
]

TIMES = ("@time", "@watermark")
"""The hidden columns of a timed frame."""

TIMESTAMP = pl.Datetime("us", "UTC")
DURATION = pl.Duration("us")

CASE_DIFFERS = (
    r"[\x{19b}\x{264}\x{ece}\x{1c89}-\x{1c8a}\x{a7cb}-\x{a7cf}\x{a7d2}-\x{a7d5}\x{a7da}-\x{a7dc}\x{10d50}-\x{10d85}"
    r"\x{10efd}-\x{10eff}\x{11241}\x{11f00}-\x{11f42}\x{13439}-\x{13455}\x{16ea0}-\x{16ed3}\x{1df25}-\x{1df2a}"
    r"\x{1e030}-\x{1e08f}\x{1e4eb}-\x{1e4ef}]"
)
"""The characters whose case Polars knows from a later Unicode than Python 3.11 does; texts with them go by rows."""

_YEAR_1, _YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000
_DAY = 86_400_000_000
_LONGEST_LIST = 2**31 - 2


def any_fails(frame: pl.DataFrame, mask: pl.Expr) -> bool:
    """Whether the mask is true for any record of the frame."""
    return bool(frame.select(mask.any()).item())


def fill(frame: pl.DataFrame, *columns: pl.Expr) -> pl.DataFrame:
    """Columns that do not depend on the records, as many rows as the frame has; hidden columns stay."""
    names = [column.meta.output_name() for column in columns]
    return frame.with_columns(*columns).select(*names, *(name for name in TIMES if name in frame.columns))


def later(*times: str) -> tuple[pl.Expr, pl.Expr]:
    """The hidden columns of joined records: the later time, and a watermark for which nothing is late."""
    return pl.max_horizontal(*times).alias("@time"), pl.lit(INT_MIN, pl.Int64).alias("@watermark")


# --- int, timestamp, duration ----------------------------------------------------------------------------------------


def micros(value: pl.Expr) -> pl.Expr:
    """A timestamp or duration as microseconds."""
    return value.cast(pl.Int64)


def timestamp(value: pl.Expr) -> pl.Expr:
    """Microseconds as a timestamp."""
    return value.cast(TIMESTAMP)


def duration(value: pl.Expr) -> pl.Expr:
    """Microseconds as a duration."""
    return value.cast(DURATION)


def add_fails(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """Where a sum leaves 64 bits: both have the sign that it has not."""
    total = left + right
    return ((left ^ total) & (right ^ total)) < 0


def subtract_fails(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """Where a difference leaves 64 bits."""
    return ((left ^ right) & (left ^ (left - right))) < 0


def multiply_fails(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """Where a product leaves 64 bits."""
    product = left.cast(pl.Int128) * right.cast(pl.Int128)
    return (product < INT_MIN) | (product > INT_MAX)


def absolute_fails(value: pl.Expr) -> pl.Expr:
    """Where the negative or the magnitude leaves 64 bits."""
    return value == INT_MIN


def floordiv_fails(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """Where a quotient of ints does not exist or leaves 64 bits."""
    return (right == 0) | ((left == INT_MIN) & (right == -1))


def truncate(value: pl.Expr, unit: pl.Expr) -> pl.Expr:
    """Microseconds cut down to a multiple of `unit`."""
    return value - value % unit


def truncate_fails(value: pl.Expr, unit: pl.Expr) -> pl.Expr:
    """Where the unit is not positive, or the multiple leaves 64 bits."""
    return (unit <= 0) | (truncate(value, unit) > value)


# --- any scalar ------------------------------------------------------------------------------------------------------


def least(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The smaller; null if either is null; the left one of equals."""
    return pl.when(left.is_not_null() & right.is_not_null()).then(pl.when(right < left).then(right).otherwise(left))


def greatest(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The greater; null if either is null; the left one of equals."""
    return pl.when(left.is_not_null() & right.is_not_null()).then(pl.when(right > left).then(right).otherwise(left))


def greatest_float(value: pl.Expr) -> pl.Expr:
    """The greatest float of a group, NaN where there is one; null of nothing."""
    return pl.when(value.is_nan().any()).then(pl.lit(float("nan"))).otherwise(value.max())


def finite(frame: pl.DataFrame, *sums: str) -> pl.DataFrame | None:
    """The groups, or None where a float sum left the finite numbers: rows add exactly."""
    return frame if all(frame[name].is_finite().all() for name in sums) else None


# --- conversion ------------------------------------------------------------------------------------------------------


def float_to_int_fails(value: pl.Expr) -> pl.Expr:
    """Where a float is no number of 64 bits; NaN is greater than all."""
    return (value < -9223372036854775808.0) | (value >= 9223372036854775808.0)


def string_to_int_fails(value: pl.Expr) -> pl.Expr:
    """Where a text is no number of 64 bits."""
    number = value.str.contains(r"\A[+-]?[0-9]+\z")
    return value.is_not_null() & (~number | value.cast(pl.Int64, strict=False).is_null())


def string_to_float_fails(value: pl.Expr) -> pl.Expr:
    """Where a text is no number."""
    number = value.str.contains(r"\A(?:[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|nan|-?inf)\z")
    return value.is_not_null() & (~number | value.cast(pl.Float64, strict=False).is_null())


def timestamp_to_string(value: pl.Expr) -> pl.Expr:
    """ISO 8601 with six decimals and Z."""
    inside = micros(value).clip(_YEAR_1, _YEAR_10000 - 1)
    return timestamp(inside).dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")


def timestamp_to_string_fails(value: pl.Expr) -> pl.Expr:
    """Where the year has not four digits."""
    return (micros(value) < _YEAR_1) | (micros(value) >= _YEAR_10000)


def date_to_string(value: pl.Expr) -> pl.Expr:
    """ISO 8601."""
    return value.cast(pl.Int32).clip(_YEAR_1 // _DAY, _YEAR_10000 // _DAY - 1).cast(pl.Date).dt.strftime("%Y-%m-%d")


def date_to_string_fails(value: pl.Expr) -> pl.Expr:
    """Where the year has not four digits."""
    days = value.cast(pl.Int64)
    return (days < _YEAR_1 // _DAY) | (days >= _YEAR_10000 // _DAY)


def duration_to_string(value: pl.Expr) -> pl.Expr:
    """Seconds with six decimals, of microseconds."""
    sign = pl.when(value < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    size = value.abs()
    return sign + (size // 1_000_000).cast(pl.String) + "." + (size % 1_000_000).cast(pl.String).str.zfill(6)


# --- strings and lists -----------------------------------------------------------------------------------------------


def case_fails(value: pl.Expr) -> pl.Expr:
    """Where a text has characters whose case Polars and Python know differently."""
    return value.str.contains(CASE_DIFFERS)


def substring(value: pl.Expr, start: pl.Expr, count: pl.Expr) -> pl.Expr:
    """Up to `count` code points from `start`."""
    part = value.str.slice(start.clip(0, INT_MAX), count.clip(0, INT_MAX))
    return pl.when(start.is_not_null() & count.is_not_null()).then(part)


def replace(value: pl.Expr, old: pl.Expr, new: pl.Expr) -> pl.Expr:
    """Every `old` replaced, whatever the three are; an empty `old` changes nothing."""
    changed = pl.when(old == "").then(value).otherwise(value.str.split(old).list.join(new))
    return pl.when(old.is_not_null() & new.is_not_null()).then(changed)


def item(items: pl.Expr, index: pl.Expr) -> pl.Expr:
    """The item at `index`, null outside."""
    return items.list.get(index.clip(0, _LONGEST_LIST), null_on_oob=True)


def item_fails(items: pl.Expr, index: pl.Expr) -> pl.Expr:
    """Where the index is outside."""
    return (index < 0) | (index >= items.list.len().cast(pl.Int64))


WINDOW = tuple(pl.col("window").struct.field(name).cast(pl.Int64).alias(name) for name in ("start", "end"))
"""The start and end of a record's window in microseconds, by which groups are told apart."""

# --- windows ---------------------------------------------------------------------------------------------------------


def too_late(start: pl.Expr, size: int, lateness: int) -> pl.Expr:
    """Where the window from `start` is closed already at the record's watermark, or leaves 64 bits."""
    end = start + size
    closed = pl.when(end > INT_MAX - lateness).then(pl.lit(INT_MAX, pl.Int64)).otherwise(end + lateness)
    return (closed <= pl.col("@watermark")) | (start > pl.col("@time")) | (end < start)


def window(start: pl.Expr, size: int) -> pl.Expr:
    """The column `window`."""
    return pl.struct(timestamp(start).alias("start"), timestamp(start + size).alias("end")).alias("window")
