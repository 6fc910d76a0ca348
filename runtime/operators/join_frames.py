"""Joins in columns: whole sides as Polars frames, a slice of the left one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import polars as pl

from ghcm.runtime.contract import Context
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.native.code import JoinColumns, Parameters
from ghcm.runtime.operators.chain import in_columns
from ghcm.spg.joining import JoinKind
from ghcm.spg.ops import Join
from ghcm.types import Collection

LEFT, RIGHT = "@left_row", "@right_row"
"""The places of records in their side, by which those that met nobody are found."""


class _RecordFails(Exception):
    """A record fails: rows say which."""


def joined_frames(
    code: JoinColumns, op: Join, sides: Sequence[Collection], whole: Sequence[Sequence[Batch]], context: Context
) -> list[pl.DataFrame] | None:
    """The columns of the result; None if a record fails, or Polars cannot do it."""
    try:
        return list(_joined(code, op, sides, whole, context))
    except _RecordFails:
        return None


def looked_up(code: JoinColumns, op: Join, batch: Batch, right: pl.DataFrame, context: Context) -> pl.DataFrame | None:
    """What a lookup makes of a batch, in its order; None if a record fails, or Polars cannot do it."""
    parameters = context.parameters
    try:
        left = _done(partial(code.left, batch.frame(), parameters)).with_row_index(LEFT)
        pairs = _paired(code, op, left, right, context)
        parts = list(_of_left(op.kind, left, pairs, right))
        found = pl.concat(parts, how="diagonal").sort(LEFT, maintain_order=True) if len(parts) > 1 else parts[0]
        return _done(partial(code.joined, found, parameters))
    except _RecordFails:
        return None


def side_frame(
    make: Callable[[pl.DataFrame, Parameters], pl.DataFrame | None], batch: Batch, parameters: Parameters
) -> pl.DataFrame | None:
    """A whole right side with its keys and places; None if a record fails, or Polars cannot hold it."""
    frame = in_columns(partial(make, batch.frame(), parameters))
    return None if frame is None else frame.with_row_index(RIGHT)


def _paired(code: JoinColumns, op: Join, part: pl.DataFrame, right: pl.DataFrame, context: Context) -> pl.DataFrame:
    """The pairs of records that belong together."""
    keys = [f"@{index}" for index in range(len(op.left_keys))]
    pairs = _done(partial(part.join, right, on=keys, how="inner", maintain_order="left_right"))
    if op.within_us is not None:
        apart = pl.col("@left_time").cast(pl.Int128) - pl.col("@right_time").cast(pl.Int128)
        pairs = pairs.filter(apart.abs() <= op.within_us)
    if code.belong is None:
        return pairs
    return _done(partial(code.belong, pairs, context.parameters))


def _joined(
    code: JoinColumns, op: Join, sides: Sequence[Collection], whole: Sequence[Sequence[Batch]], context: Context
) -> Iterator[pl.DataFrame]:
    parameters = context.parameters
    left = _side(code.left, sides[0], whole[0], parameters).with_row_index(LEFT)
    right = _side(code.right, sides[1], whole[1], parameters).with_row_index(RIGHT)
    met: list[pl.DataFrame] = []
    for start in range(0, left.height, context.rows):
        part = left.slice(start, context.rows)
        pairs = _paired(code, op, part, right, context)
        for frame in _of_left(op.kind, part, pairs, right):
            yield _done(partial(code.joined, frame, parameters))
        met += [pairs.select(RIGHT)] if op.kind.keeps_right else []
    if op.kind.keeps_right:
        alone = right.join(pl.concat(met), on=RIGHT, how="anti") if met else right
        yield _done(partial(code.joined, _without(alone, left, "left"), parameters))


def _of_left(kind: JoinKind, part: pl.DataFrame, pairs: pl.DataFrame, right: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """What to make the results of one slice of the left side of: pairs, and left records alone."""
    match kind:
        case JoinKind.SEMI:
            yield part.join(pairs.select(LEFT), on=LEFT, how="semi")
        case JoinKind.ANTI:
            yield part.join(pairs.select(LEFT), on=LEFT, how="anti")
        case JoinKind.INNER | JoinKind.RIGHT:
            yield pairs
        case JoinKind.LEFT | JoinKind.FULL:
            yield pairs
            yield _without(part.join(pairs.select(LEFT), on=LEFT, how="anti"), right, "right")


def _without(frame: pl.DataFrame, other: pl.DataFrame, side: str) -> pl.DataFrame:
    """Records alone: the columns of the other side are null."""
    names = [name for name in (side, f"@{side}_time") if name in other.columns]
    return frame.with_columns(pl.lit(None, other.schema[name]).alias(name) for name in names)


def _side(
    make: Callable[[pl.DataFrame, Parameters], pl.DataFrame | None],
    side: Collection,
    batches: Sequence[Batch],
    parameters: Parameters,
) -> pl.DataFrame:
    """All records of a side with their keys; an empty side has its columns, too."""
    taken = batches or [Batch.from_rows(side.columns, [], timed=side.timed)]
    return pl.concat([_done(partial(make, batch.frame(), parameters)) for batch in taken])


def _done(make: Callable[[], pl.DataFrame | None]) -> pl.DataFrame:
    frame = in_columns(make)
    if frame is None:
        raise _RecordFails
    return frame
