"""Lists in generated columnar code: values, and masks of the records that fail."""

from __future__ import annotations

import polars as pl

__all__ = ["item", "item_fails", "joined"]

_LONGEST_LIST = 2**31 - 2


def item(items: pl.Expr, index: pl.Expr) -> pl.Expr:
    """The item at `index`, null outside."""
    return items.list.get(index.clip(0, _LONGEST_LIST), null_on_oob=True)


def item_fails(items: pl.Expr, index: pl.Expr) -> pl.Expr:
    """Where the index is outside."""
    return (index < 0) | (index >= items.list.len().cast(pl.Int64))


def joined(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The items of one list and then those of another; null where either is null."""
    return pl.when(left.is_not_null() & right.is_not_null()).then(pl.concat_list(left, right))
