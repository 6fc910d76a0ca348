"""Arithmetic, comparison and conversion in generated columnar code: values, and masks of the records that fail."""

from typing import cast

import polars as pl

from ghcm.runtime.native.columns import decimal, units
from ghcm.types import INT_MAX, INT_MIN


def log10(of: pl.Expr) -> pl.Expr:
    """The logarithm to base 10, exact of powers of ten; Polars divides the natural one."""
    return of.map_batches(_log10, return_dtype=pl.Float64, is_elementwise=True)


def _log10(of: pl.Series) -> pl.Series:
    import numpy as np  # loads when it is needed

    with np.errstate(all="ignore"):
        return cast("pl.Series", np.log10(of))


def add_fails(left: pl.Expr | int, right: pl.Expr | int) -> pl.Expr:
    """Where a sum leaves 64 bits: both have the sign that it has not."""
    if isinstance(left, int):
        left, right = right, left
    if isinstance(right, int):
        leaves = left > INT_MAX - right if right > 0 else left < INT_MIN - right
        return pl.lit(leaves) if isinstance(leaves, bool) else leaves
    total = left + right
    return ((left ^ total) & (right ^ total)) < 0


def subtract_fails(left: pl.Expr | int, right: pl.Expr | int) -> pl.Expr:
    """Where a difference leaves 64 bits."""
    if isinstance(right, int):
        return add_fails(left, -right)
    if isinstance(left, int):
        return right < left - INT_MAX if left >= 0 else right > left - INT_MIN
    return ((left ^ right) & (left ^ (left - right))) < 0


def multiply_fails(left: pl.Expr | int, right: pl.Expr | int) -> pl.Expr:
    """Where a product leaves 64 bits."""
    if isinstance(left, int):
        left, right = right, left
    if isinstance(right, int):
        return _times_fails(left, right)
    assert isinstance(left, pl.Expr)
    product = left.cast(pl.Int128) * right.cast(pl.Int128)
    return (product < INT_MIN) | (product > INT_MAX)


def _times_fails(value: pl.Expr | int, times: int) -> pl.Expr:
    """Where a number of times, known beforehand, a value leaves 64 bits."""
    if isinstance(value, int):
        return pl.lit(not INT_MIN <= value * times <= INT_MAX)
    if times in (0, 1):
        return pl.lit(False)
    if times == -1:
        return value == INT_MIN
    least, most = (-(2**63 // times), INT_MAX // times) if times > 0 else (-(INT_MAX // -times), INT_MIN // times)
    return ~value.is_between(least, most)


def divided(left: pl.Expr, right: pl.Expr | float) -> pl.Expr:
    """The quotient, rounded once. Polars multiplies by the reciprocal of a divisor that is one value for all records,
    which rounds twice: here it has a value for each.
    """
    return left / (left.is_null().cast(pl.Float64) + right)


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


def round_half_up(value: pl.Expr, from_scale: int, precision: int, scale: int) -> pl.Expr:
    """A decimal with fewer digits behind the point, a half away from zero."""
    whole, unit = units(value), 10 ** (from_scale - scale)
    size = (whole.abs() + pl.lit(unit // 2, pl.Int128)) // pl.lit(unit, pl.Int128)
    return decimal(signed(size, whole), precision, scale)


def quotient(left: pl.Expr, right: pl.Expr, shift: int, precision: int, scale: int) -> pl.Expr:
    """Of decimals the quotient with so many digits behind the point, a half away from zero; units of the left one are
    shifted by so many digits.
    """
    above, below = units(left), units(right)
    size, parts = scaled(above.abs(), max(shift, 0)), scaled(below.abs(), max(-shift, 0))
    whole = size // parts
    up = (size - whole * parts) * pl.lit(2, pl.Int128) >= parts
    rounded = whole + up.cast(pl.Int128)
    return decimal(pl.when((above < 0) != (below < 0)).then(negative(rounded)).otherwise(rounded), precision, scale)


def least(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The smaller; null if either is null; the left one of equals."""
    return pl.when(left.is_not_null() & right.is_not_null()).then(pl.when(right < left).then(right).otherwise(left))


def greatest(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The greater; null if either is null; the left one of equals."""
    return pl.when(left.is_not_null() & right.is_not_null()).then(pl.when(right > left).then(right).otherwise(left))


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


def duration_to_string(value: pl.Expr) -> pl.Expr:
    """Seconds with six decimals, of microseconds."""
    sign = pl.when(value < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    size = value.abs()
    return sign + (size // 1_000_000).cast(pl.String) + "." + (size % 1_000_000).cast(pl.String).str.zfill(6)


# --- decimals --------------------------------------------------------------------------------------------------------


def int_to_decimal_fails(value: pl.Expr, precision: int, scale: int) -> pl.Expr:
    """Where a whole number has more digits than stand ahead of the point."""
    return _longer(value.cast(pl.Int128), precision - scale)


def decimal_to_decimal(value: pl.Expr, from_scale: int, precision: int, scale: int) -> pl.Expr:
    """The same number with other digits."""
    whole = units(value)
    if scale >= from_scale:
        return decimal(scaled(whole, scale - from_scale), precision, scale)
    return decimal(signed(whole.abs() // pl.lit(10 ** (from_scale - scale), pl.Int128), whole), precision, scale)


def decimal_to_decimal_fails(value: pl.Expr, from_scale: int, precision: int, scale: int) -> pl.Expr:
    """Where digits would be lost behind the point, or do not fit ahead of it."""
    whole, digits = units(value), precision - scale + from_scale
    wide = _longer(whole, digits) if digits < 38 else pl.lit(False)
    if scale >= from_scale:
        return wide
    return wide | (whole % pl.lit(10 ** (from_scale - scale), pl.Int128) != 0)


def _longer(whole: pl.Expr, digits: int) -> pl.Expr:
    return (whole >= pl.lit(10**digits, pl.Int128)) | (whole <= pl.lit(-(10**digits), pl.Int128))


def decimal_to_int(value: pl.Expr, scale: int) -> pl.Expr:
    """A decimal cut towards zero."""
    return _cut(value, scale).cast(pl.Int64, strict=False)


def decimal_to_int_fails(value: pl.Expr, scale: int) -> pl.Expr:
    """Where it does not fit 64 bits."""
    return ~_cut(value, scale).is_between(INT_MIN, INT_MAX)


def _cut(value: pl.Expr, scale: int) -> pl.Expr:
    whole = units(value)
    return signed(whole.abs() // pl.lit(10**scale, pl.Int128), whole)


def decimal_to_float(value: pl.Expr, scale: int) -> pl.Expr:
    """The nearest float, as both numbers are floats exactly."""
    return divided(units(value).cast(pl.Float64), pl.lit(float(10**scale), pl.Float64))


def decimal_to_float_fails(value: pl.Expr) -> pl.Expr:
    """Where its digits are too many to be a float exactly: rows find the nearest."""
    return ~units(value).is_between(-(2**53), 2**53)


def decimal_to_string(value: pl.Expr, scale: int) -> pl.Expr:
    """All digits of the scale."""
    whole = units(value)
    sign = pl.when(whole < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    digits = whole.abs().cast(pl.String).str.zfill(scale + 1)
    return sign + (digits.str.head(-scale) + "." + digits.str.tail(scale) if scale else digits)
