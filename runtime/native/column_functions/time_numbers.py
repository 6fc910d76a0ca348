"""Numbers of seconds as microseconds in generated columnar code."""

from __future__ import annotations

import polars as pl

from ghcm.types import INT_MAX, INT_MIN
from ghcm.values.timestamps import FIRST_MICROS, LAST_MICROS

_LONGEST = 9_223_372_036_854.775
"""The longest duration that is a float of seconds; the next one has more than 64 bits of microseconds."""
_SPLIT = 134_217_729.0


def whole_fails(value: pl.Expr, size: int) -> pl.Expr:
    """Where so many units of `size` microseconds after 1970 are outside of the years 1 to 9999."""
    return (value < -(-FIRST_MICROS // size)) | (value > LAST_MICROS // size)


def seconds_fails(value: pl.Expr) -> pl.Expr:
    """Where so many seconds have more than 64 bits of microseconds."""
    return (value < -(-INT_MIN // 1_000_000)) | (value > INT_MAX // 1_000_000)


def float_timestamp_fails(value: pl.Expr) -> pl.Expr:
    """Where so many seconds after 1970 are no timestamp of the years 1 to 9999; NaN is greater than all."""
    return (value < FIRST_MICROS / 1_000_000) | (value >= (LAST_MICROS + 1) / 1_000_000)


def float_seconds_fails(value: pl.Expr) -> pl.Expr:
    """Where so many seconds are no duration."""
    return (value < -_LONGEST) | (value > _LONGEST)


def float_seconds(value: pl.Expr) -> pl.Expr:
    """The nearest number of microseconds, half to even.

    The product of the fraction and a million is taken exactly, as a float and the error of that float (Dekker): beside
    a half the error decides.
    """
    size = pl.when(value.is_finite()).then(value.abs()).otherwise(0.0).clip(0.0, _LONGEST)
    size = pl.when(value.is_null()).then(None).otherwise(size)
    whole = size.floor()
    part = size - whole
    product = part * 1e6
    spread = part * _SPLIT
    high = spread - (spread - part)
    error = (high * 1e6 - product) + (part - high) * 1e6
    floor = product.floor()
    rest = product - floor
    up = (rest > 0.5) | ((rest == 0.5) & ((error > 0) | ((error == 0) & (floor % 2 == 1))))
    micros = whole.cast(pl.Int64) * 1_000_000 + floor.cast(pl.Int64) + up.cast(pl.Int64)
    return pl.when(value < 0).then(-micros).otherwise(micros)
