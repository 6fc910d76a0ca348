"""Arithmetic in generated columnar code: values, and masks of the records that fail."""

from __future__ import annotations

import polars as pl

from ghcm.types import INT_MAX, INT_MIN

__all__ = ["absolute_fails", "add_fails", "divided", "floordiv_fails", "multiply_fails", "subtract_fails"]


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
