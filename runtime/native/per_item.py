"""Lambdas over lists in columnar code: the items of all lists become one frame, on which the lambda is an expression.

Lists are put together again by their lengths (Arrow's offsets); a null list stays null. Nothing here raises for any
data.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pyarrow as pa

_MADE = "="
"""The column of what is computed; no name of the language is so."""


def values(
    items: pl.Expr, around: Sequence[pl.Expr], name: str, body: pl.Expr, dtype: pl.DataType | type[pl.DataType]
) -> pl.Expr:
    """The list of `body` for each item of a list; in it the item is the column `name`, and there are those `around`."""

    def compute(given: Sequence[pl.Series]) -> pl.Series:
        lists = given[0].alias(name)
        made = _frame(lists, given[1:]).with_columns(body.alias(_MADE))[_MADE].cast(dtype)
        return _lists(_ends(lists), made, lists)

    return pl.map_batches([items, *around], compute, return_dtype=pl.List(dtype))


def chosen(
    items: pl.Expr, around: Sequence[pl.Expr], name: str, test: pl.Expr, dtype: pl.DataType | type[pl.DataType]
) -> pl.Expr:
    """The items of a list for which `test` is true."""

    def compute(given: Sequence[pl.Series]) -> pl.Series:
        lists = given[0].alias(name)
        frame = _frame(lists, given[1:]).with_columns(test.alias(_MADE))
        keep = frame[_MADE].fill_null(value=False)
        before = pl.concat([pl.Series([0], dtype=pl.Int64), keep.cast(pl.Int64).cum_sum()])
        return _lists(before.gather(_ends(lists)), frame[name].filter(keep), lists)

    return pl.map_batches([items, *around], compute, return_dtype=pl.List(dtype))


def bound(
    value: pl.Expr, around: Sequence[pl.Expr], name: str, body: pl.Expr, dtype: pl.DataType | type[pl.DataType]
) -> pl.Expr:
    """`body` in a frame in which a value, computed once, is the column `name`, and there are those `around`."""

    def compute(given: Sequence[pl.Series]) -> pl.Series:
        rows = max(map(len, given), default=0)
        named = [given[0].alias(name), *given[1:]]
        whole = [each if len(each) == rows else each.new_from_index(0, rows) for each in named]
        return pl.DataFrame(whole).with_columns(body.alias(_MADE))[_MADE].cast(dtype)

    return pl.map_batches([value, *around], compute, return_dtype=dtype)


def zipped(left: pl.Expr, right: pl.Expr, dtype: pl.DataType | type[pl.DataType]) -> pl.Expr:
    """The items of two lists in pairs, as many as the shorter list has."""

    def compute(given: Sequence[pl.Series]) -> pl.Series:
        rows = max(map(len, given))
        whole = [each if len(each) == rows else each.new_from_index(0, rows) for each in given]
        both = pl.DataFrame([each.alias(name) for each, name in zip(whole, ("_1", "_2"), strict=True)])
        shorter = pl.min_horizontal(pl.col("_1").list.len(), pl.col("_2").list.len())
        there = pl.col("_1").is_not_null() & pl.col("_2").is_not_null()
        cut = both.select(pl.when(there).then(pl.col(name).list.head(shorter)).alias(name) for name in both.columns)
        made = cut.explode(cut.columns, empty_as_null=False, keep_nulls=False).to_struct(_MADE)
        return _lists(_ends(cut["_1"]), made, cut["_1"]).cast(dtype)

    return pl.map_batches([left, right], compute, return_dtype=dtype)


def any_of(conditions: pl.Expr) -> pl.Expr:
    """Three-valued `or` of a list of conditions."""
    decided = pl.when(conditions.is_null()).then(None).when(conditions.list.any()).then(statement=True)
    return decided.when(_has_null(conditions)).then(None).otherwise(statement=False)


def all_of(conditions: pl.Expr) -> pl.Expr:
    """Three-valued `and` of a list of conditions."""
    decided = pl.when(conditions.is_null()).then(None).when(~conditions.list.all()).then(statement=False)
    return decided.when(_has_null(conditions)).then(None).otherwise(statement=True)


def _has_null(conditions: pl.Expr) -> pl.Expr:
    return conditions.list.drop_nulls().list.len() < conditions.list.len()


def _frame(lists: pl.Series, around: Sequence[pl.Series]) -> pl.DataFrame:
    """One row for each item of each list, with what is around the list."""
    whole = [each if len(each) == len(lists) else each.new_from_index(0, len(lists)) for each in around]
    return pl.DataFrame([lists, *whole]).explode(lists.name, empty_as_null=False, keep_nulls=False)


def _ends(lists: pl.Series) -> pl.Series:
    """Where the lists begin among all items, and where the last one ends."""
    lengths = lists.list.len().fill_null(0).cast(pl.Int64)
    return pl.concat([pl.Series([0], dtype=pl.Int64), lengths.cum_sum()])


def _lists(ends: pl.Series, made: pl.Series, like: pl.Series) -> pl.Series:
    """Items as lists that end there, null where those before were."""
    lists: Any = pa.LargeListArray  # its stubs know fewer arguments than it takes
    arrays: Any = lists.from_arrays(ends.to_arrow(), made.to_arrow(), mask=like.is_null().to_arrow())
    return pl.Series(like.name, arrays).cast(pl.List(made.dtype))
