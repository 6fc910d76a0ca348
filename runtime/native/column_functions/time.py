"""Time in generated columnar code: values, and masks of the records that fail."""

from __future__ import annotations

import polars as pl

__all__ = ["truncate", "truncate_fails"]


def truncate(value: pl.Expr, unit: pl.Expr) -> pl.Expr:
    """Microseconds cut down to a multiple of `unit`."""
    return value - value % unit


def truncate_fails(value: pl.Expr, unit: pl.Expr) -> pl.Expr:
    """Where the unit is not positive, or the multiple leaves 64 bits."""
    return (unit <= 0) | (truncate(value, unit) > value)
