"""What all generated columnar code calls: masks asked, hidden columns, units of time, windows, floats of groups.

The functions of the language stand in `ghcm.runtime.native.column_functions`. There and here a function called
`<name>_fails` gives a mask: true where a record fails, false or null where it does not. A value may be anything where
its mask is true: the batch is then done again by rows. Nothing raises for any data.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any, cast

import polars as pl
import pyarrow as pa

from ghcm.types import INT_MAX, INT_MIN

TIMES = ("@time", "@watermark")
"""The hidden columns of a timed frame."""

TIMESTAMP = pl.Datetime("us", "UTC")
DURATION = pl.Duration("us")


def any_fails(frame: pl.DataFrame, mask: pl.Expr) -> bool:
    """Whether the mask is true for any record of the frame."""
    return bool(frame.select(mask.any()).item())


def sound(query: pl.LazyFrame) -> pl.DataFrame | None:
    """The result of a query, or None where any of its records is marked as one that fails."""
    frame = query.collect()
    return None if frame.get_column("@fails").any() else frame.drop("@fails")


def fill(frame: pl.DataFrame, *columns: pl.Expr) -> pl.DataFrame:
    """Columns that do not depend on the records, as many rows as the frame has; hidden columns stay."""
    names = [column.meta.output_name() for column in columns]
    return frame.with_columns(*columns).select(*names, *(name for name in TIMES if name in frame.columns))


def in_turn(*items: pl.DataFrame) -> pl.DataFrame:
    """The records of frames of equal height: the first of each, the second of each, and so on."""
    if len(items) == 1:
        return items[0]
    height = items[0].height
    index = pl.int_range(height * len(items), dtype=pl.UInt32)
    order = pl.select(index % len(items) * height + index // len(items)).to_series()
    return pl.concat(items, how="vertical_relaxed", rechunk=True)[order]


def later(*times: str) -> tuple[pl.Expr, pl.Expr]:
    """The hidden columns of joined records: the later time, and a watermark for which nothing is late."""
    return pl.max_horizontal(*times).alias("@time"), pl.lit(INT_MIN, pl.Int64).alias("@watermark")


def micros(value: pl.Expr) -> pl.Expr:
    """A timestamp or duration as microseconds."""
    return value.cast(pl.Int64)


def timestamp(value: pl.Expr) -> pl.Expr:
    """Microseconds as a timestamp."""
    return value.cast(TIMESTAMP)


def duration(value: pl.Expr) -> pl.Expr:
    """Microseconds as a duration."""
    return value.cast(DURATION)


def units(value: pl.Expr) -> pl.Expr:
    """A decimal as the number of its smallest units, in 128 bits."""
    return value.to_physical()


def decimal(value: pl.Expr, precision: int, scale: int) -> pl.Expr:
    """A number of smallest units (which has that many digits) as a decimal; Polars has no such cast, Arrow has."""

    def viewed(column: pl.Series) -> pl.Series:
        arrow: Any = pa
        array = column.to_arrow().view(arrow.decimal128(precision, scale))
        return pl.Series(column.name, array, dtype=pl.Decimal(precision, scale))

    whole = value.cast(pl.Decimal(38, 0), strict=False)
    return whole.map_batches(viewed, return_dtype=pl.Decimal(precision, scale), is_elementwise=True)


def greatest_float(value: pl.Expr) -> pl.Expr:
    """The greatest float of a group, NaN where there is one; null of nothing."""
    return pl.when(value.is_nan().any()).then(pl.lit(float("nan"))).otherwise(value.max())


def finite(frame: pl.DataFrame, *sums: str) -> pl.DataFrame | None:
    """The groups, or None where a float sum left the finite numbers: rows add exactly."""
    return frame if all(frame[name].is_finite().all() for name in sums) else None


# --- groups ----------------------------------------------------------------------------------------------------------


CLOSED = (
    pl.struct(pl.col("start").cast(TIMESTAMP).alias("start"), pl.col("end").cast(TIMESTAMP).alias("end")).alias(
        "window"
    ),
)
"""The column `window` of merged groups."""

CLOSED_TIMES = ((pl.col("end") - 1).alias("@time"), pl.lit(INT_MIN, pl.Int64).alias("@watermark"))
"""The hidden columns of the results of closed windows."""


def chosen(state: pl.Expr, order: list[pl.Expr], there: pl.Expr | None, *, last: bool) -> pl.Expr:
    """The first or last of a group in ascending order (nulls first), of those only that are `there`."""
    if there is not None:
        state, order = state.filter(there), [part.filter(there) for part in order]
    ordered = state.sort_by(order, nulls_last=False)
    return ordered.last() if last else ordered.first()


def best(name: str, limit: int) -> pl.Expr:
    """The greatest items of each list."""
    items = pl.col(name)
    cut = items.list.sort(descending=True).list.head(limit)
    return pl.when(items.list.len() > limit).then(cut).otherwise(items)


def canonical(value: object) -> object:
    """Structs that Polars gave as dicts as tuples, inner ones too."""
    if not isinstance(value, dict):
        return value
    return tuple(map(canonical, cast("dict[str, object]", value).values()))


def beyond(total: pl.Expr) -> pl.Expr:
    """Where a sum does not fit 64 bits."""
    return ~total.is_between(INT_MIN, INT_MAX)


def inexact(total: str) -> pl.Expr:
    """Where a whole number is too great to be a float."""
    return ~pl.col(total).is_between(-(2**53), 2**53)


def if_any(count: str, value: pl.Expr) -> pl.Expr:
    """The value where there is something to sum up; null of nothing."""
    return pl.when(pl.col(count) > 0).then(value)


def whole_total(total: str) -> pl.Expr:
    """A sum of whole numbers of which there are some."""
    return pl.col(total).cast(pl.Int64, strict=False)


def mean(count: str, total: str) -> pl.Expr:
    """The mean as a float; null of nothing."""
    return if_any(count, pl.col(total).cast(pl.Float64) / pl.col(count).cast(pl.Float64))


# --- windows ---------------------------------------------------------------------------------------------------------


_WINDOW = tuple(pl.col("window").struct.field(name).cast(pl.Int64).alias(name) for name in ("start", "end"))


_RUNS = 8
"""Of records of one window or key that follow each other: in so many parts a batch is looked at run by run, ..."""
_LONG, _LONG_BY_KEY = 512, 16_384
"""... where they have so many records each; and so many where keys are to be told apart in each part, too."""


def by_key(frame: pl.DataFrame, *parts: pl.Expr) -> pl.DataFrame:
    """One row for each group of records of one key, in the order in which groups are met. Keys of several parts, as
    windows are, are dear to tell apart; where most follow their like nobody has to.
    """
    runs = _runs(frame, "key", _LONG) if isinstance(frame.schema["key"], pl.Struct) else []
    if not runs:
        return grouped(frame, ["key"], *parts)
    key, none = pl.col("key").first(), pl.lit(0).alias("@all")
    return pl.concat([run.group_by(none, maintain_order=True).agg(key, *parts) for run in runs]).drop("@all")


def grouped(frame: pl.DataFrame, keys: Sequence[str], *parts: pl.Expr) -> pl.DataFrame:
    """One row for each group of rows that are alike in these columns, in the order in which groups are met. Those, and
    fields of structs, that are the same in all rows tell none apart: one number is far cheaper to look up than several.
    """
    fields = [(key, *field) for key in keys for field in _fields(frame.get_column(key))]
    same = [_is_same(values) for _, _, values in fields]
    if not any(same):
        return frame.group_by(keys, maintain_order=True).agg(*parts)
    names = [f"@{number}" for number in range(len(fields))]
    apart = [each[2].alias(name) for name, each, alike in zip(names, fields, same, strict=True) if not alike]
    by = [pl.col(each.name) for each in apart] or [pl.lit(0).alias("@all")]
    groups = frame.with_columns(apart).group_by(by, maintain_order=True).agg(*parts)
    made: dict[str, pl.Expr] = {}
    inner: dict[str, list[pl.Expr]] = {}
    for name, (key, field, values), alike in zip(names, fields, same, strict=True):
        value = pl.lit(values.head(1)).first() if alike else pl.col(name)
        if field:
            inner.setdefault(key, []).append(value.alias(field))
        else:
            made[key] = value.alias(key)
    made |= {key: pl.struct(values).alias(key) for key, values in inner.items()}
    return groups.select(*(made[key] for key in keys), *groups.columns[len(by) :])


def _fields(column: pl.Series) -> list[tuple[str, pl.Series]]:
    """The fields of structs that are all there, with their names; else the column."""
    if not isinstance(column.dtype, pl.Struct) or not column.dtype.fields or column.null_count():
        return [("", column)]
    return [(each.name, each) for each in column.struct.unnest()]


def _is_same(column: pl.Series) -> bool:
    """Whether all values are one and the same, as Polars and Python tell them apart."""
    first = column.head(1)
    if not _is_plain(column) or (column.tail(1) != first).any():
        return False
    return bool(len(column)) and not (column != first).any()


def in_windows(frame: pl.DataFrame, key: str | None, *parts: pl.Expr) -> pl.DataFrame:
    """One row for each group of records of one key and window, in the order in which groups are met, with the start and
    end of the window in microseconds. Where records of a window follow each other the key alone tells them apart.
    """
    keys = [key] if key is not None else []
    runs = _runs(frame, "window", _LONG if key is None else _LONG_BY_KEY)
    if not runs:
        return frame.group_by(*keys, *_WINDOW, maintain_order=True).agg(*parts)
    made: list[pl.DataFrame] = []
    for run in runs:
        times = run.head(1).select(_WINDOW)
        window = [pl.lit(times.item(0, name), pl.Int64).alias(name) for name in times.columns]
        all_ = pl.lit(0).alias("@all")
        groups = grouped(run, keys, *parts) if keys else run.group_by(all_, maintain_order=True).agg(*parts)
        made.append(groups.select(*keys, *window, pl.exclude(*keys, "@all")))
    return pl.concat(made)


def _runs(frame: pl.DataFrame, name: str, long: int) -> list[pl.DataFrame]:
    """The frame in parts whose records have one and the same value of a column of structs each; none where these would
    be many or not so `long`, or one would come again.
    """
    if frame.height < long:
        return []
    fields = [each.to_physical() for each in frame.get_column(name).struct.unnest()]
    if not fields or not all(map(_is_plain, fields)):
        return []
    before = frame.height - 1
    changed = (each.slice(1) != each.slice(0, before) for each in fields)
    changes = reduce(lambda one, other: one | other, changed)
    count = 1 + (changes.sum() or 0)
    if count > min(_RUNS, frame.height // long):
        return []
    begins = [0, *(at + 1 for at in changes.arg_true().to_list())]
    if len({tuple([each[at] for each in fields]) for at in begins}) < count:
        return []
    return [frame.slice(at, end - at) for at, end in zip(begins, [*begins[1:], frame.height], strict=True)]


def _is_plain(column: pl.Series) -> bool:
    """Whether Python tells its values apart as Polars does."""
    return not (column.dtype.is_nested() or column.dtype.is_float() or column.null_count())


def too_late(start: pl.Expr, size: int, lateness: int) -> pl.Expr:
    """Where the window from `start` is closed already at the record's watermark, or leaves 64 bits."""
    reach = size + lateness
    closed = start.clip(None, INT_MAX - reach) + reach
    return (closed <= pl.col("@watermark")) | (start > INT_MAX - size)  # one below all times has come out above all


def open_starts(size: int, every: int, lateness: int, offset: int = 0) -> tuple[pl.Expr, pl.Expr]:
    """The starts of the first and the last sliding window that each record may still enter."""
    watermark = pl.col("@watermark").clip(INT_MIN + 2 * (size + every + lateness), None) - lateness
    time = pl.col("@time")
    first = pl.max_horizontal(_first_start(time, size, every, offset), _first_start(watermark, size, every, offset))
    return first, last_start(time, every, offset)


def _first_start(time: pl.Expr, size: int, every: int, offset: int) -> pl.Expr:
    return last_start(time - size, every, offset) + every


def last_start(time: pl.Expr, every: int, offset: int) -> pl.Expr:
    """The last start of a window at or before a time; wraps where it leaves 64 bits."""
    into = time % every
    return time - ((into - offset) % every if offset else into)


def open_ends(size: int, every: int, lateness: int, offset: int) -> tuple[pl.Expr, pl.Expr]:
    """The ends of the first and the last window that each record may still enter, of windows that share their start."""
    start = last_start(pl.col("@time"), size, offset)
    watermark = pl.col("@watermark").clip(INT_MIN + 2 * (size + lateness), INT_MAX - size) - lateness
    reached = pl.max_horizontal(pl.col("@time"), watermark)
    return reached - (reached - start) % every + every, start + size


def none_open(first: pl.Expr, last: pl.Expr, reach: int) -> pl.Expr:
    """Where there is none of them, or the time is so extreme that a window might leave 64 bits."""
    time = pl.col("@time")
    return (first > last) | (time < INT_MIN + 4 * reach) | (time > INT_MAX - 4 * reach)


def pane(first: pl.Expr, size: int, width: int, offset: int = 0) -> pl.Expr:
    """The column `window` where it holds the record's slice and the end of the first window that it counts in."""
    return between(last_start(pl.col("@time"), width, offset % width), first + size)


def window(start: pl.Expr, size: int) -> pl.Expr:
    """The column `window`, of windows of one size."""
    return between(start, start + size)


def between(start: pl.Expr, end: pl.Expr) -> pl.Expr:
    """The column `window`."""
    return pl.struct(timestamp(start).alias("start"), timestamp(end).alias("end")).alias("window")
