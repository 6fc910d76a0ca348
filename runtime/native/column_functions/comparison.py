"""Comparison in generated columnar code: values, and masks of the records that fail."""

from __future__ import annotations

import polars as pl


def ensure_fails(condition: pl.Expr) -> pl.Expr:
    """Where a condition is false."""
    return condition.is_not_null() & ~condition


def least(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The smaller; null if either is null; the left one of equals."""
    return pl.when(left.is_not_null() & right.is_not_null()).then(pl.when(right < left).then(right).otherwise(left))


def greatest(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The greater; null if either is null; the left one of equals."""
    return pl.when(left.is_not_null() & right.is_not_null()).then(pl.when(right > left).then(right).otherwise(left))
