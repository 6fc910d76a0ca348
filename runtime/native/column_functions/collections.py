"""Lists and maps in generated columnar code: values, and masks of the records that fail.

Maps are lists of structs `key` and `value`, each key once.
"""

from typing import TypeAlias

import polars as pl

from ghcm.runtime.native.columns import decimal

_LONGEST_LIST = 2**31 - 2


def item(items: pl.Expr, index: pl.Expr) -> pl.Expr:
    """The item at `index`, which counts from the end where it is negative; null outside."""
    found = items.list.get(index.clip(-_LONGEST_LIST, _LONGEST_LIST), null_on_oob=True)
    return pl.when(index.is_not_null()).then(found)  # which is one value where the list is null for all


def item_fails(items: pl.Expr, index: pl.Expr) -> pl.Expr:
    """Where the index is outside."""
    length = items.list.len().cast(pl.Int64)
    return (index < -length) | (index >= length)


def joined(left: pl.Expr, right: pl.Expr) -> pl.Expr:
    """The items of one list and then those of another; null where either is null."""
    return pl.when(left.is_not_null() & right.is_not_null()).then(pl.concat_list(left, right))


def _if_any(items: pl.Expr, value: pl.Expr) -> pl.Expr:
    """The value where there is an item that is not null."""
    return pl.when(items.list.drop_nulls().list.len() > 0).then(value)


def _wide_sum(items: pl.Expr) -> pl.Expr:
    numbers = items.list.drop_nulls().list.eval(pl.element().to_physical().cast(pl.Int128))
    return _if_any(items, numbers.list.sum())


def whole_sum(items: pl.Expr, dtype: pl.DataType | type[pl.DataType]) -> pl.Expr:
    """The sum of whole numbers or durations; null where it leaves 64 bits."""
    return _wide_sum(items).cast(pl.Int64, strict=False).cast(dtype)


def exact_sum(items: pl.Expr, precision: int, scale: int) -> pl.Expr:
    """The sum of decimals, for which 128 bits have room."""
    return decimal(_wide_sum(items), precision, scale)


def sum_fails(items: pl.Expr) -> pl.Expr:
    """Where the sum leaves 64 bits."""
    total = _wide_sum(items)
    return total.is_not_null() & total.cast(pl.Int64, strict=False).is_null()


def float_sum(items: pl.Expr) -> pl.Expr:
    """The sum of floats."""
    return _if_any(items, items.list.drop_nulls().list.sum())


def float_mean(items: pl.Expr) -> pl.Expr:
    """The mean of floats."""
    return float_sum(items) / items.list.drop_nulls().list.len()


def whole_mean(items: pl.Expr) -> pl.Expr:
    """The mean of whole numbers, which add up in 128 bits."""
    return _wide_sum(items).cast(pl.Float64) / items.list.drop_nulls().list.len()


def sort_by(entries: pl.Expr, *, descending: bool) -> pl.Expr:
    """The values of structs in the order of their keys, equal ones as they stood."""
    return entries.list.eval(_VALUE.sort_by(_KEY, descending=descending, nulls_last=descending, maintain_order=True))


_Type: TypeAlias = pl.DataType | type[pl.DataType]

_KEY = pl.element().struct.field("key")
_VALUE = pl.element().struct.field("value")


def indexed(items: pl.Expr, dtype: _Type) -> pl.Expr:
    """The items with their positions."""
    pair = pl.struct(pl.element().alias("_1"), pl.int_range(pl.len()).alias("_2"))
    return items.list.eval(pair).cast(dtype)


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


def value(of: pl.Expr, key: pl.Expr, dtype: _Type) -> pl.Expr:
    """The value of the key, null where the map does not have it."""

    def compute(given: pl.Series) -> pl.Series:
        maps, wanted = given.struct.field("of"), given.struct.field("key")
        rows = pl.DataFrame({"row": pl.int_range(len(maps), eager=True), "of": maps, "wanted": wanted})
        entries = rows.explode("of").unnest("of").filter(pl.col("key") == pl.col("wanted")).select("row", "value")
        return rows.select("row").join(entries, on="row", how="left", maintain_order="left")["value"].cast(dtype)

    return pl.struct(of.alias("of"), key.alias("key")).map_batches(compute, return_dtype=dtype)
