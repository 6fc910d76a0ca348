"""The Gregorian calendar in columns of whole numbers, for the years 1 to 9999."""

from __future__ import annotations

import polars as pl


def days_of(year: pl.Expr, month: pl.Expr, day: pl.Expr) -> pl.Expr:
    """The days since 1970; years are counted from March, so that leap days come last."""
    shifted = year - (month <= 2).cast(pl.Int64)
    of_era = shifted % 400
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return shifted // 400 * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def days_in_month(year: pl.Expr, month: pl.Expr) -> pl.Expr:
    """28 to 31."""
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return pl.when(month == 2).then(28 + leap.cast(pl.Int64)).otherwise(30 + (month + month // 8) % 2)
