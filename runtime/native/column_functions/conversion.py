"""Conversion in generated columnar code: values, and masks of the records that fail."""

from __future__ import annotations

import polars as pl

from ghcm.runtime.native.columns import micros, timestamp

__all__ = [
    "date_to_string",
    "date_to_string_fails",
    "duration_to_string",
    "float_to_int_fails",
    "string_to_float_fails",
    "string_to_int_fails",
    "timestamp_to_string",
    "timestamp_to_string_fails",
    "to_enum_fails",
]

_YEAR_1, _YEAR_10000 = -62_135_596_800_000_000, 253_402_300_800_000_000
_DAY = 86_400_000_000


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


def to_enum_fails(value: pl.Expr, values: list[str]) -> pl.Expr:
    """Where a text is none of the values."""
    return value.is_not_null() & ~value.is_in(values)
