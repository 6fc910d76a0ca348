"""What a join makes of records of its two sides, one of which may be missing: by rows, and in columns, where whole
sides are Polars frames and the left one is taken a slice at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import polars as pl

from ghcm.functions import Failure
from ghcm.runtime.contract import NEVER, Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row, in_columns
from ghcm.runtime.native.code import JoinCode, JoinColumns, Parameters
from ghcm.runtime.native.order import order_of
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operators.task_operator import TaskOperator, batch_of
from ghcm.spg.graph import Task, Unit
from ghcm.spg.joining import JoinKind, is_lookup, joined_element, joined_pair
from ghcm.spg.ops import Join
from ghcm.types import Collection, Struct, Type


class JoiningOperator(TaskOperator):
    """Makes rows of the join's element, {left, right}, {key, value: {left, right}} of pairs joined by key, or the left
    one alone; with the later of the two times and a watermark for which nothing is late; those of lookups keep the
    watermark of the left record.
    """

    def __init__(self, task: Task, op: Join, unit: Unit, code: JoinCode, context: Context) -> None:
        super().__init__(task, unit, context)
        left, right = self._sides
        self._op = op
        self._interval = op.interval_us
        self._code = code
        self._alone = op.kind.left_alone
        self._windowed = op.by_key and left.windowed
        self._lookup = is_lookup(left, right)
        self._frame_join = None if code.columns is None else FrameJoin(code.columns, op, self._sides, context)
        self._order = order_of(right.columns)
        self._widths = tuple(len(side.columns.fields) for side in self._sides)
        self._places = [
            (side.columns.index("key"), side.columns.index("value")) if op.by_key else (0, 0) for side in self._sides
        ]

    def _joined(self, left: Row | None, right: Row | None) -> Row:
        """What the two give; None for one that is missing (or, where the left one is given alone, not asked for)."""
        made = self._visible(left, right)
        if not self._timed:
            return made
        pairs = zip((left, right), self._sides, strict=True)
        times = [cast("int", row[-2]) for row, side in pairs if row is not None and side.timed]
        return (*made, max(times), left[-1] if self._lookup and left is not None else NEVER)

    def _answers(self, left: Row, found: Sequence[Row]) -> list[Row]:
        """What a left record gives that belongs to these right ones."""
        match self._op.kind:
            case JoinKind.SEMI | JoinKind.ANTI:
                return [self._joined(left, None)] if bool(found) == (self._op.kind is JoinKind.SEMI) else []
            case JoinKind.LEFT if not found:
                return [self._joined(left, None)]
            case JoinKind.INNER | JoinKind.LEFT | JoinKind.RIGHT | JoinKind.FULL:
                return [self._joined(left, right) for right in found]

    def _latest_of(self, rights: Sequence[Row]) -> list[Row]:
        """The latest of some right rows, of several at that time the greatest; none of none."""
        return [max(rights, key=lambda row: (row[-2], self._order(row)))] if rights else []

    def _visible(self, left: Row | None, right: Row | None) -> Row:
        if self._alone:
            assert left is not None, "a left record that is given alone is there"
            return tuple(left[: self._widths[0]])
        return self._keyed(left, right) if self._op.by_key else self._records(left, right)

    def _keyed(self, left: Row | None, right: Row | None) -> Row:
        (left_key, left_value), (right_key, right_value) = self._places
        values = (None if left is None else left[left_value], None if right is None else right[right_value])
        row, key, side = (left, left_key, 0) if left is not None else (right, right_key, 1)
        assert row is not None, "one of the two is there"
        window = (row[self._sides[side].columns.index("window")],) if self._windowed else ()
        return (row[key], values, *window)

    def _keys(self, ordinal: int, rows: Sequence[Row], outbox: Outbox | None) -> Sequence[tuple[object, ...] | None]:
        """The keys of rows of one side, None of a record that fails, which is a dead letter unless it was before (no
        outbox).
        """
        element = self._sides[ordinal].element

        def dead(stage: str, record: object, reason: Failure, detail: str) -> None:
            if outbox is not None:
                self._dead(outbox, record, element, reason, detail)

        keys = self._code.left if ordinal == 0 else self._code.right
        return keys(rows, dead, self._parameters)

    def _belong(self, left: Row, right: Row, outbox: Outbox) -> bool:
        """Whether two rows of one key belong together."""
        if self._interval is not None:
            least, most = self._interval
            if not least <= cast("int", right[-2]) - cast("int", left[-2]) <= most:
                return False
        if self._op.asof and cast("int", right[-2]) > cast("int", left[-2]):
            return False
        if self._code.residual is None:
            return True
        try:
            return self._code.residual(*self._records(left, right), self._parameters)
        except RecordFailure as failure:
            pair, type_ = self._pair_of(left, right)
            self._dead(outbox, pair, type_, failure.reason, failure.detail)
            return False

    def _records(self, left: Row | None, right: Row | None) -> tuple[object, object]:
        """The two as canonical values."""
        return self._record_of(0, left), self._record_of(1, right)

    def _record_of(self, side: int, row: Row | None) -> object:
        if row is None:
            return None
        return tuple(row[: self._widths[side]]) if isinstance(self._sides[side].element, Struct) else row[0]

    def _pair_of(self, left: Row, right: Row) -> tuple[object, Type]:
        """Two records that were held against each other, as a dead letter has them, with their type."""
        first, second = self._sides
        if not self._op.by_key:
            return self._records(left, right), joined_element(first.element, second.element, JoinKind.INNER)
        one, two = (side.columns.fields for side in self._sides)
        type_ = joined_pair(
            (one[0].type, one[1].type), (two[0].type, two[1].type), JoinKind.INNER, windowed=self._windowed
        )
        return self._keyed(left, right), type_


LEFT, RIGHT = "@left_row", "@right_row"
"""The indices of records in their side, by which those that met nobody are found."""

_FEW = 16
"""A right side of so many times fewer records than the left one has few."""
_GROWS = 32
"""The left side is taken in slices of up to so many times as many records as a batch has, where they meet few."""


_Make: TypeAlias = Callable[[pl.DataFrame, Parameters], pl.DataFrame | None]


class _RecordFails(Exception):
    """A record fails: rows say which."""


@dataclass(frozen=True, slots=True)
class FrameJoin:
    """A join in columns. What it makes is None if a record fails, or Polars cannot do it."""

    code: JoinColumns
    op: Join
    sides: Sequence[Collection]
    context: Context

    def of_sides(self, whole: Sequence[Sequence[Batch]]) -> list[pl.DataFrame] | None:
        """The columns of the result of whole sides."""
        try:
            return list(self._joined(whole))
        except _RecordFails:
            return None

    def looked_up(self, batch: Batch, right: pl.DataFrame) -> pl.DataFrame | None:
        """What a lookup makes of a batch, in its order."""
        try:
            left = self._done(self.code.left, batch.frame()).with_row_index(LEFT)
            parts = list(self._of_left(left, self._paired(left, right), right))
            found = pl.concat(parts, how="diagonal").sort(LEFT, maintain_order=True) if len(parts) > 1 else parts[0]
            return self._done(self.code.joined, found)
        except _RecordFails:
            return None

    def right_side(self, batch: Batch) -> pl.DataFrame | None:
        """A whole right side with its keys and indices."""
        try:
            return self._done(self.code.right, batch.frame()).with_row_index(RIGHT)
        except _RecordFails:
            return None

    def _side(self, make: _Make, side: Collection, batches: Sequence[Batch]) -> pl.DataFrame:
        """All records of a side with their keys; an empty side has its columns, too."""
        return pl.concat([self._done(make, batch.frame()) for batch in batches or [batch_of(side, [])]])

    def _done(self, make: _Make, frame: pl.DataFrame) -> pl.DataFrame:
        made = in_columns(lambda: make(frame, self.context.parameters))
        if made is None:
            raise _RecordFails
        return made

    def _paired(self, part: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        """The pairs of records that belong together."""
        keys, interval = [name for name in right.columns if name[1:].isdigit()], self.op.interval_us

        def met(left: pl.DataFrame, _: Parameters) -> pl.DataFrame:
            return _may_meet(left, right, keys).join(right, on=keys, how="inner", maintain_order="left_right")

        pairs = self._done(met, part)
        if interval is not None:
            later = pl.col("@right_time").cast(pl.Int128) - pl.col("@left_time").cast(pl.Int128)
            pairs = pairs.filter(later.is_between(*interval))
        return pairs if self.code.belong is None else self._done(self.code.belong, pairs)

    def _joined(self, whole: Sequence[Sequence[Batch]]) -> Iterator[pl.DataFrame]:
        code, rows, keeps_right = self.code, self.context.rows, self.op.kind.keeps_right
        left = self._side(code.left, self.sides[0], whole[0]).with_row_index(LEFT)
        right = self._side(code.right, self.sides[1], whole[1]).with_row_index(RIGHT)
        met: list[pl.DataFrame] = []
        start = 0
        while start < left.height:
            part = left.slice(start, rows)
            pairs = self._paired(part, right)
            for frame in self._of_left(part, pairs, right):
                yield self._done(code.joined, frame)
            met += [pairs.select(RIGHT)] if keeps_right else []
            start += rows
            rows = min(_GROWS * self.context.rows, 2 * rows) if pairs.height <= rows else self.context.rows
        if keeps_right:
            alone = right.join(pl.concat(met), on=RIGHT, how="anti") if met else right
            yield self._done(code.joined, _without(alone, left, "left"))

    def _of_left(self, part: pl.DataFrame, pairs: pl.DataFrame, right: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """What to make the results of one slice of the left side of: pairs, and left records alone."""
        match self.op.kind:
            case JoinKind.SEMI:
                yield part.join(pairs.select(LEFT), on=LEFT, how="semi")
            case JoinKind.ANTI:
                yield part.join(pairs.select(LEFT), on=LEFT, how="anti")
            case JoinKind.INNER | JoinKind.RIGHT:
                yield pairs
            case JoinKind.LEFT | JoinKind.FULL:
                yield pairs
                yield _without(part.join(pairs.select(LEFT), on=LEFT, how="anti"), right, "right")


def _may_meet(left: pl.DataFrame, right: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The left side, without records whose keys are none of the right one's where these are few: to look for each part
    of a key by itself is far cheaper than for a whole one.
    """
    for name in keys if right.height * _FEW <= left.height else ():
        if right.schema[name].is_integer() or right.schema[name].is_temporal():
            there = left[name].is_in(right[name].unique().implode())
            left = left.filter(there) if (there.sum() or 0) * 2 < left.height else left
    return left


def _without(frame: pl.DataFrame, other: pl.DataFrame, side: str) -> pl.DataFrame:
    """Records alone: the columns of the other side are null."""
    names = [name for name in (side, f"@{side}_time") if name in other.columns]
    return frame.with_columns(pl.lit(None, other.schema[name]).alias(name) for name in names)
