"""Arithmetic in generated columnar code: values, and masks of the records that fail."""

from __future__ import annotations

import polars as pl

from ghcm.runtime.native.columns import decimal, units
from ghcm.types import INT_MAX, INT_MIN


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


def divided(left: pl.Expr, right: pl.Expr | float) -> pl.Expr:
    """The quotient, rounded once. Polars multiplies by the reciprocal of a divisor that is one value for all records,
    which rounds twice: here it has a value for each.
    """
    return left / (left.is_null().cast(pl.Float64) + right)


def absolute_fails(value: pl.Expr) -> pl.Expr:
    """Where the negative or the magnitude leaves 64 bits."""
    return value == INT_MIN


def floordiv_fails(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """Where a quotient of ints does not exist or leaves 64 bits."""
    return (right == 0) | ((left == INT_MIN) & (right == -1))


# --- decimals: whole numbers of smallest units, which 128 bits hold -------------------------------------------------


def scaled(value: pl.Expr, digits: int) -> pl.Expr:
    """Units of a scale with so many more digits."""
    return value * pl.lit(10**digits, pl.Int128) if digits else value


def signed(size: pl.Expr, like: pl.Expr) -> pl.Expr:
    """A magnitude with the sign of another number."""
    return pl.when(like < 0).then(negative(size)).otherwise(size)


def negative(value: pl.Expr) -> pl.Expr:
    """The negative of a number of 128 bits, for which Polars has no sign."""
    return pl.lit(0, pl.Int128) - value


def exact_add(left: pl.Expr, right: pl.Expr, scales: tuple[int, int], precision: int, scale: int) -> pl.Expr:
    """The sum of decimals of these scales."""
    one, two = scaled(units(left), scale - scales[0]), scaled(units(right), scale - scales[1])
    return decimal(one + two, precision, scale)


def exact_subtract(left: pl.Expr, right: pl.Expr, scales: tuple[int, int], precision: int, scale: int) -> pl.Expr:
    """The difference of decimals of these scales."""
    one, two = scaled(units(left), scale - scales[0]), scaled(units(right), scale - scales[1])
    return decimal(one - two, precision, scale)


def exact_multiply(left: pl.Expr, right: pl.Expr, scales: tuple[int, int], precision: int, scale: int) -> pl.Expr:
    """The product of decimals."""
    return decimal(units(left) * units(right), precision, scale)


def exact_negate(value: pl.Expr, precision: int, scale: int) -> pl.Expr:
    """The negative of a decimal."""
    return decimal(negative(units(value)), precision, scale)


def exact_absolute(value: pl.Expr, precision: int, scale: int) -> pl.Expr:
    """The magnitude of a decimal."""
    return decimal(units(value).abs(), precision, scale)


def round_half_up(value: pl.Expr, from_scale: int, precision: int, scale: int) -> pl.Expr:
    """A decimal with fewer digits behind the point, a half away from zero."""
    whole, unit = units(value), 10 ** (from_scale - scale)
    size = (whole.abs() + pl.lit(unit // 2, pl.Int128)) // pl.lit(unit, pl.Int128)
    return decimal(signed(size, whole), precision, scale)
