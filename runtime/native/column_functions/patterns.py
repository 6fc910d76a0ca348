"""Regular expressions in generated columnar code."""

from __future__ import annotations

import polars as pl


def extract(value: pl.Expr, pattern: str, group: int) -> pl.Expr:
    """What a group of the first match took, empty where it took no part; null where there is no match."""
    return pl.when(value.str.contains(pattern)).then(value.str.extract(pattern, group).fill_null(""))


def replace(value: pl.Expr, pattern: str, replacement: pl.Expr) -> pl.Expr:
    """The text with every match replaced; nothing in the replacement has a meaning of its own."""
    plain = replacement.str.replace_all("$", "$$", literal=True)
    return pl.when(replacement.is_not_null()).then(value.str.replace_all(pattern, plain))
