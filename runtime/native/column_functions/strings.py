"""Strings in generated columnar code: values, and masks of the records that fail."""

from __future__ import annotations

import polars as pl

from ghcm.types import INT_MAX

__all__ = ["CASE_DIFFERS", "case_fails", "replace", "substring"]

CASE_DIFFERS = (
    r"[\x{19b}\x{264}\x{ece}\x{1c89}-\x{1c8a}\x{a7cb}-\x{a7cf}\x{a7d2}-\x{a7d5}\x{a7da}-\x{a7dc}\x{10d50}-\x{10d85}"
    r"\x{10efd}-\x{10eff}\x{11241}\x{11f00}-\x{11f42}\x{13439}-\x{13455}\x{16ea0}-\x{16ed3}\x{1df25}-\x{1df2a}"
    r"\x{1e030}-\x{1e08f}\x{1e4eb}-\x{1e4ef}]"
)
"""The characters whose case Polars knows from a later Unicode than Python 3.11 does; texts with them go by rows."""


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
