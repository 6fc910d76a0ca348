"""Sort and top: the records of bounded input in order, given on when the input has ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter

import polars as pl

from ghcm.runtime.contract import Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.native.code import OrderCode
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operators.chain import columnar, in_columns
from ghcm.runtime.operators.letters import Letters
from ghcm.runtime.operators.pending import Pending, chunks
from ghcm.runtime.state.packing import pack, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Sort, Top
from ghcm.types import Null

_Ranked = tuple[object, object, Row]
_SPARE = 4096


class OrderOperator:
    """Keeps records with their sort keys; of a top no more than twice its count and some. Frames stay frames until a
    row comes.
    """

    def __init__(self, task: Task, op: Sort | Top, unit: Unit, code: OrderCode, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._task = task
        self._descending = op.descending
        self._nulls_last = isinstance(op, Top) or op.descending
        self._code = code
        self._context = context
        self._letters = Letters(unit, task)
        self._limit: int | None = None
        self._failed: RecordFailure | None = None
        self._ranked: list[_Ranked] = []
        self._frames: list[pl.DataFrame] = []
        self._pending = Pending()
        if code.count is not None:
            self._count(code)

    def _count(self, code: OrderCode) -> None:
        assert code.count is not None
        try:
            count = code.count(self._context.parameters)
            self._limit = max(0, count) if isinstance(count, int) else 0
        except RecordFailure as failure:
            self._failed, self._limit = failure, 0

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        """As `Operator.process`."""
        if self._code.columns is not None and columnar(batch, self._context):
            columns = self._code.columns
            frame = in_columns(lambda: columns(batch.frame(), self._context.parameters))
            if frame is not None:
                self.counts["columns"] += len(batch)
                self._frames.append(frame)
                self._shorten_frames()
                return True
        self.counts["rows"] += len(batch)
        self._take_rows(batch, outbox)
        return True

    def _take_rows(self, batch: Batch, outbox: Outbox) -> None:
        keys = self._code.by(batch.rows(), self._letters.to(outbox), self._context.parameters)
        self._ranked += [(key[0], key[1], row) for key, row in zip(keys, batch.rows(), strict=True) if key is not None]
        if self._limit is not None and len(self._ranked) > 2 * self._limit + _SPARE:
            self._ranked = self._in_order(self._ranked)[: self._limit]

    def _in_order(self, ranked: list[_Ranked]) -> list[_Ranked]:
        ranked = sorted(ranked, key=itemgetter(1))
        ranked.sort(key=itemgetter(0), reverse=self._descending)
        return ranked

    def _shorten_frames(self) -> None:
        if self._limit is not None and sum(frame.height for frame in self._frames) > 2 * self._limit + _SPARE:
            self._frames = [self._frame_in_order().head(self._limit)]

    def _frame_in_order(self) -> pl.DataFrame:
        names = list(self._task.schema.names)
        others = [False] * len(names)
        return pl.concat(self._frames).sort(
            ["@by", *names],
            descending=[self._descending, *others],
            nulls_last=[self._nulls_last, *others],
            maintain_order=True,
        )

    def advance(self, watermark: int, outbox: Outbox) -> bool:
        """As `Operator.advance`."""
        return True

    def flush(self, outbox: Outbox) -> bool:
        """As `Operator.flush`."""
        return True

    def finish(self, outbox: Outbox) -> bool:
        """As `Operator.finish`."""
        return self._pending.give(outbox, lambda: self._result(outbox))

    def _result(self, outbox: Outbox) -> Iterator[Batch]:
        if self._failed is not None:
            self._letters.other(outbox, None, Null(), self._failed.reason, self._failed.detail)
        if self._frames and not self._ranked:
            frame = self._frame_in_order()
            frame = frame if self._limit is None else frame.head(self._limit)
            self._frames = []
            timed = self._task.collection.timed
            for start in range(0, frame.height, self._context.rows):
                yield Batch.from_frame(self._task.schema, frame.slice(start, self._context.rows), timed=timed)
            return
        self._frames_to_rows(outbox)
        ranked, self._ranked = self._in_order(self._ranked), []
        rows = [row for _, _, row in (ranked if self._limit is None else ranked[: self._limit])]
        yield from chunks(self._task.schema, rows, self._context.rows, timed=self._task.collection.timed)

    def _frames_to_rows(self, outbox: Outbox) -> None:
        frames, self._frames = self._frames, []
        for frame in frames:
            self._take_rows(Batch.from_frame(self._task.schema, frame, timed=self._task.collection.timed), outbox)

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`."""
        timed = self._task.collection.timed
        rows = [row for _, _, row in self._ranked]
        for frame in self._frames:
            rows += Batch.from_frame(self._task.schema, frame, timed=timed).rows()
        return {0: pack(rows)} if rows else {}

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        for data in state.values():
            batch = Batch.from_rows(self._task.schema, unpack(data), timed=self._task.collection.timed)
            self._take_rows(batch, _Silent())


class _Silent:
    """The outbox of what has been accepted before: nothing fails again."""

    def offer(self, batch: Batch) -> bool:
        """Never called."""
        return True

    def dead(self, letter: object) -> None:
        """Never called."""

    def publish(self, publication: object) -> None:
        """Never called."""
