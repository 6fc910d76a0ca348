"""Maps in generated columnar code: lists of structs `key` and `value`, each key once."""

from __future__ import annotations

from typing import TypeAlias

import polars as pl

_Type: TypeAlias = pl.DataType | type[pl.DataType]

_KEY = pl.element().struct.field("key")
_VALUE = pl.element().struct.field("value")


def keys(of: pl.Expr, dtype: _Type) -> pl.Expr:
    """The keys, ascending."""
    return of.list.eval(_KEY.sort()).cast(dtype)


def values(of: pl.Expr, dtype: _Type) -> pl.Expr:
    """The values in the order of their keys."""
    return of.list.eval(_VALUE.sort_by(_KEY)).cast(dtype)


def entries(of: pl.Expr, dtype: _Type) -> pl.Expr:
    """The keys and values in the order of the keys."""
    return of.list.eval(pl.element().sort_by(_KEY)).cast(dtype)


def from_entries(of: pl.Expr, dtype: _Type) -> pl.Expr:
    """The map of keys and values, in the order of its keys; the last value of a key counts."""
    last = _KEY.is_last_distinct()
    return of.list.eval(pl.element().filter(last).sort_by(_KEY.filter(last))).cast(dtype)


def has_key(of: pl.Expr, key: pl.Expr) -> pl.Expr:
    """Whether the map has the key."""
    found = of.list.eval(_KEY).list.contains(key)
    return pl.when(of.is_not_null() & key.is_not_null()).then(found)


def lacks_key(of: pl.Expr, key: pl.Expr) -> pl.Expr:
    """Where the map does not have the key."""
    return has_key(of, key).not_().fill_null(value=False)


def value(of: pl.Expr, key: pl.Expr, dtype: _Type) -> pl.Expr:
    """The value of the key, null where the map does not have it."""

    def compute(given: pl.Series) -> pl.Series:
        maps, wanted = given.struct.field("of"), given.struct.field("key")
        rows = pl.DataFrame({"row": pl.int_range(len(maps), eager=True), "of": maps, "wanted": wanted})
        entries = rows.explode("of").unnest("of").filter(pl.col("key") == pl.col("wanted")).select("row", "value")
        return rows.select("row").join(entries, on="row", how="left", maintain_order="left")["value"].cast(dtype)

    return pl.struct(of.alias("of"), key.alias("key")).map_batches(compute, return_dtype=dtype)
