"""Keyed aggregations: reduce_by_key, aggregate_by_key, group_by_key and count, windowed, over bounded input, or as a
table kept for ever.

One state per key (and window). A batch is pre-aggregated in columns where the generated code can. A group whose value
cannot be given is a dead letter with the key and window as input.
"""

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from operator import itemgetter
from typing import Any, cast

import polars as pl

from ghcm.runtime.contract import INFINITY, NEVER, Context, Outbox, Upkeep
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row, in_columns
from ghcm.runtime.data.keys import identity_of, value_of
from ghcm.runtime.native.code import GroupCode
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operators.event_time import is_closed, lateness_of
from ghcm.runtime.operators.fallible_reducers import fallible, has_lambda
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.runtime.state.group_frames import by_window
from ghcm.runtime.state.group_state import UNWINDOWED, GroupState, layout_of
from ghcm.runtime.state.row_buffer import RowBuffer
from ghcm.runtime.state.slices import Slices, WindowTimes
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import AggregateByKey, Changes, Count, ReduceByKey
from ghcm.types import Shape, Struct

_AT_ONCE = 1024
"""Single states whose results are made before somebody is offered them, so that others have their turn in between."""
_MANY = 4096
"""So many single states are saved in a few milliseconds; without windows, more keys than that become columns."""


class GroupOperator(TaskOperator):
    """Keeps groups as columns where that is possible, and as single states otherwise."""

    def __init__(self, task: Task, unit: Unit, code: GroupCode, context: Context) -> None:
        super().__init__(task, unit, context)
        self._layout = layout = layout_of(self._takes, task)
        self._code = fallible(code) if isinstance(task.op, ReduceByKey) and has_lambda(task.op.reducer) else code
        self._plain_keys = layout.key is None or identity_of(layout.key_type) is None
        self._key_value = None if layout.key is None else value_of(layout.key_type)
        self._lateness = lateness_of(task, unit)
        self._table = task.collection.shape is Shape.TABLE
        behind = [each.op for each in unit.tasks for edge in each.inputs if edge.producer == task.id]
        self._told = self._table and not all(isinstance(op, Changes) and op.final for op in behind)
        """Whether anybody takes the latest values; a table that is only read needs no results at commits."""
        self._last: Iterator[Batch] | None = None
        """What the end of the input has made of all groups, until somebody takes it."""
        self._state = GroupState(self._code, self._layout, context, told=self._told)
        self._frames = self._state.frames
        self._windows = self._state.windows
        self._identity = self._state.identity
        whole, aggregated = isinstance(task.op, AggregateByKey) and layout.key is None, self._takes.aggregated
        self._whole = len(aggregated.fields) if whole and isinstance(aggregated, Struct) else None
        """How many columns are the record of which aggregates are, where it is no single one."""
        self._spread = isinstance(task.op, AggregateByKey) and whole and not task.op.scalar
        self._slices = None if code.slices is None else Slices(*code.slices)
        self._buffer = RowBuffer(self._layout.window)
        self._arrived = NEVER
        """The number of the latest record, where some aggregate goes by arrival."""

    # --- records -----------------------------------------------------------------------------------------------------

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        if self._buffers():
            self._buffer.add(batch, outbox)
            if self._buffer.rows >= self._context.columnar_from:
                self._settle(outbox)
        else:
            self._take(batch, outbox, in_frames=self._columnar(batch))
        return ()

    def _buffers(self) -> bool:
        """Whether few records wait for more: those whose groups stay columns, if they are in windows, or many."""
        if self._frames is None or self._context.form != "auto":
            return False
        return self._layout.window is not None or len(self._state.unwindowed()) >= _MANY

    def gathers(self, rows: int) -> bool:
        """As `Hoarder.gathers`."""
        return self._state.gathers(rows + self._buffer.rows)

    def closes(self, watermark: int) -> bool:
        """As `Hoarder.closes`."""
        return self._state.closes(watermark - self._lateness, self._buffer.rows, self._buffer.least_end)

    def _settle(self, outbox: Outbox | None = None) -> None:
        """Aggregate what waits. Dead letters go where those of the last records did, if there is no outbox at hand."""
        if (waiting := self._buffer.take()) is not None:
            batch, last = waiting
            self._take(batch, outbox or last, in_frames=True)

    def _take(self, batch: Batch, outbox: Outbox, *, in_frames: bool) -> None:
        if not len(batch):
            return
        if in_frames and self._code.partial is not None:
            if self._take_columns(batch):
                return
            sound = self._sound(batch, outbox) if self._frames is not None else batch
            if not len(sound) or (len(sound) < len(batch) and self._take_columns(sound)):
                return
            batch = sound
        self._take_rows(batch, outbox)

    def _sound(self, batch: Batch, outbox: Outbox) -> Batch:
        """The batch without its records that fail, which become dead letters: one of them is no reason to keep the
        groups of the others as single states.
        """
        first, parameters, timed = self._code.first, self._parameters, self._code.timed
        kept: list[Row] = []
        for row in batch.rows():
            value = self._value_of(row)
            try:
                first((row[-2], value) if timed else value, parameters)
            except RecordFailure as failure:
                self._failed(row, failure, outbox)
            else:
                kept.append(row)
        self.counts["rows"] += len(batch) - len(kept)
        return batch if len(kept) == len(batch) else batch.with_rows(batch.schema, kept)

    def _value_of(self, row: Row) -> object:
        if self._whole is not None:
            return row[: self._whole]
        return None if self._layout.value is None else row[self._layout.value]

    def _take_columns(self, batch: Batch) -> bool:
        partial = self._code.partial
        assert partial is not None
        frame = in_columns(lambda: partial(self._numbered(batch), self._parameters))
        if frame is None:
            return False
        self.counts["columns"] += len(batch)
        if self._frames is not None:
            self._frames.add(frame)
            if self._told:
                self._state.fresh.append(frame.select("key") if self._layout.key is not None else pl.DataFrame())
        else:
            self._state.spill([frame])
        return True

    def _numbered(self, batch: Batch) -> pl.DataFrame:
        """The frame of a batch, whose records have their numbers where some aggregate asks for them."""
        if not self._code.arrivals:
            return batch.frame()
        first = self._next_arrivals(len(batch))
        return batch.frame().with_columns(pl.int_range(first, first + len(batch), dtype=pl.Int64).alias("@arrival"))

    def _next_arrivals(self, count: int) -> int:
        """The first of so many numbers, which are greater than all before; a clock that goes back makes none less."""
        first = max(self._arrived + 1, self._context.now())
        self._arrived = first + count - 1
        return first

    def _take_rows(self, batch: Batch, outbox: Outbox) -> None:
        self.counts["rows"] += len(batch)
        layout, identity = self._layout, self._identity
        first, add, parameters = self._code.first, self._code.add, self._parameters
        timed, told, changed, whole = self._code.timed, self._told, self._state.changed, self._whole
        groups: dict[object, object] = {} if layout.window is not None else self._state.of(UNWINDOWED)
        last = None
        number = self._next_arrivals(len(batch)) - 1 if self._code.arrivals else None
        for row in batch.rows():
            key: object = () if layout.key is None else row[layout.key]
            if identity is not None:
                key = identity(key)
            if layout.window is not None:
                window: Any = row[layout.window]
                if window != last:
                    groups, last = self._state.of(window), window
            value = None if layout.value is None else row[layout.value]
            if whole is not None:
                value = row[:whole]
            if timed:
                value = row[-2], value
            if number is not None:
                number += 1
                value = number, value
            try:
                groups[key] = add(groups[key], value, parameters) if key in groups else first(value, parameters)
            except RecordFailure as failure:
                self._failed(row, failure, outbox)
                continue
            if told:
                changed.add(key)

    def _failed(self, row: Row, failure: RecordFailure, outbox: Outbox) -> None:
        dead = self._dead_to(outbox)
        for record in self._records(row):
            dead(self._task.id, record, failure.reason, failure.detail)

    def _records(self, row: Row) -> Iterator[object]:
        """The record, or where it came in a pane the record in each of its windows."""
        index = self._layout.window
        if self._slices is None or index is None:
            yield self._record(row)
            return
        record = row[: len(self._takes.columns.fields)]
        pane: Any = record[index]
        for window in self._slices.windows_of(pane):
            yield (*record[:index], window, *record[index + 1 :])

    # --- results -----------------------------------------------------------------------------------------------------

    def advance(self, watermark: int, outbox: Outbox) -> Iterator[Batch]:
        """As `Operator.advance`: closes windows in the order of their ends."""
        if self._layout.window is None:
            return
        until = INFINITY if watermark == INFINITY else watermark - self._lateness
        if self._buffer.least_end <= until:
            self._settle(outbox)
        if self._slices is not None:
            if self._frames is not None and not self._windows:
                for window, slid in self._frames.slide(until, self._slices):
                    yield from self._of_frame(slid, window, outbox)
            if self._windows or (self._frames is not None and self._frames.least_end <= until):
                self._state.spill_all()
            yield from self._closed_slices(watermark, self._slices, outbox)
            return
        taken = self._frames.take(until) if self._frames is not None else []
        if len(taken) > 1:
            self._state.spill(taken)
            taken = []
        closed = {window for window in self._windows if window[1] <= until}
        made = self._results_of(taken[0].sort("end")) if taken and not closed else None
        if made is not None:
            yield from made
            return
        frames = {window: frame for each in taken for window, frame in by_window(each)}
        for window in sorted(closed | frames.keys(), key=itemgetter(1)):
            frame = frames.get(window)
            if frame is not None and window in self._windows:
                self._state.spill([frame])
            if window in self._windows:
                yield from self._single(self._windows.pop(window), window, outbox)
            elif frame is not None:
                yield from self._of_frame(frame, window, outbox)

    def _of_frame(self, frame: pl.DataFrame, window: WindowTimes | None, outbox: Outbox) -> Iterator[Batch]:
        """The results of merged groups of one window, in columns if that can be."""
        made = self._results_of(frame)
        if made is not None:
            yield from made
            return
        self._state.spill([frame])
        yield from self._single(self._windows.pop(window or UNWINDOWED), window, outbox)

    def _closed_slices(self, watermark: int, slices: Slices, outbox: Outbox) -> Iterator[Batch]:
        """The windows that close. States stand under panes; what is in a closed window goes on to the pane of
        the next window that has its slice.
        """
        merge, parameters = self._code.merge, self._parameters
        while self._windows:
            end = min(pane[1] for pane in self._windows)
            if not is_closed(end, self._lateness, watermark):
                return
            merged: dict[object, object] = {}
            window, kept_from = slices.window(end), slices.kept_from(end)
            for pane in [pane for pane in self._windows if pane[1] == end]:
                states = self._windows.pop(pane)
                for key, state in states.items():
                    merged[key] = merge(merged[key], state, parameters) if key in merged else deepcopy(state)
                if kept_from <= pane[0]:
                    into = self._state.of((kept_from if slices.grow else pane[0], end + slices.every))
                    self._state.add(into, list(states), list(states.values()))
            yield from self._single(merged, window, outbox)

    def flush(self, outbox: Outbox) -> Iterable[Batch]:
        """As `Operator.flush`: a table gives the latest value of each key that changed."""
        self._settle(outbox)
        return self._latest(outbox) if self._told else ()

    def _latest(self, outbox: Outbox) -> Iterator[Batch]:
        state = self._state
        if self._identity is not None:
            state.spill_all()
        changed, found = state.renewed()
        keyed = self._state.unwindowed()
        made = self._results_of(found[0]) if len(found) == 1 and state.apart(found[0]) else None
        if made is not None:
            yield from made
            changed -= set(state.keys_of(found[0])) if changed else set()
        else:
            states = state.together(found)
            yield from self._single(state.both(states, keyed), None, outbox)
            changed -= states.keys()
        yield from self._single({key: state for key, state in keyed.items() if key in changed}, None, outbox)

    def finish(self, outbox: Outbox) -> Iterator[Batch]:
        """As `Operator.finish`: the results of bounded unwindowed input."""
        self._settle(outbox)
        if self._table and self._told:
            yield from self._latest(outbox)
        elif self._table:
            self._last = self.whole()
            if self._last is None:  # those whose values cannot be given are dead
                self._state.spill_all()
                yield from self._single(self._state.of(UNWINDOWED), None, outbox)
        elif self._layout.window is None:
            taken = self._frames.take(INFINITY) if self._frames is not None else []
            if len(taken) == 1 and not self._windows:
                yield from self._of_frame(taken[0], None, outbox)
                return
            self._state.spill(taken)
            groups: dict[object, object] = self._windows.pop(UNWINDOWED, {})
            if not groups and self._layout.key is None and self._takes.bounded:  # something is known of nothing, too
                groups = {(): 0 if isinstance(self._task.op, Count) else self._code.nothing}
            yield from self._single(groups, None, outbox)

    def whole(self) -> Iterator[Batch] | None:
        """As `ColumnarTable.whole`."""
        if self._last is not None:
            last, self._last = self._last, None
            return last
        self._settle()
        if self._frames is None or self._state.unwindowed():
            return None
        merged = self._frames.whole()
        return self._results_of(merged[0]) if len(merged) == 1 else None

    def _results_of(self, frame: pl.DataFrame) -> Iterator[Batch] | None:
        """The results of merged groups, of any windows; None where single states must do it."""
        results = self._code.results
        made = in_columns(lambda: results(frame)) if results is not None and self._plain_keys else None
        # Whoever takes it takes as much of it as it likes.
        return None if made is None else self._cut(self._framed(made), self._context.rows * 8)

    def _single(self, groups: Mapping[object, object], window: WindowTimes | None, outbox: Outbox) -> Iterator[Batch]:
        """The results of single states of one window (None: of none), made as they are asked for. `groups` may change
        meanwhile.
        """
        items = list(groups.items())
        most = min(self._context.rows, _AT_ONCE)
        for start in range(0, len(items), most):
            yield self._batch(self._rows_of(items[start : start + most], window, outbox))

    def _rows_of(self, groups: list[tuple[object, object]], window: WindowTimes | None, outbox: Outbox) -> list[Row]:
        rows: list[Row] = []
        hidden = (window[1] - 1, NEVER) if window is not None and self._timed else ()
        names = self._layout.names
        plain, pairs = all(name in ("key", "value", "window") for name in names), names == ("key", "value")
        for identity, state in groups:
            key = self._key_of(identity)
            try:
                value = self._code.result(state, self._parameters)
            except RecordFailure as failure:
                self._group_failed(key, window, failure, outbox)
                continue
            if pairs:
                rows.append((key, value, *hidden))
                continue
            if self._spread:
                rows.append((*cast("Row", value), *([] if window is None else [window]), *hidden))
                continue
            fields = cast("Row", value) if isinstance(value, tuple) else (value,)
            parts: dict[str, object] = {"key": key, "value": value, "window": window}
            rows.append((*(parts[name] for name in names), *hidden) if plain else (*fields, *hidden))
        return rows

    def _key_of(self, identity: object) -> object:
        return self._key_value(identity) if self._key_value is not None else identity

    def _group_failed(self, key: object, window: WindowTimes | None, failure: RecordFailure, outbox: Outbox) -> None:
        names = ("window",) if self._layout.key is None else ("key", "window")
        type_ = Struct(tuple(field for field in self._takes.columns.fields if field.name in names))
        value = tuple(key if field.name == "key" else window for field in type_.fields)
        self._dead(outbox, value, type_, failure.reason, failure.detail)

    def copy(self, key: object = None) -> list[tuple[object, object]]:
        """As `Table.copy`; windows are not told apart, and groups without a value are left out."""
        self._settle()
        if self._identity is not None or self._layout.window is not None:
            self._state.spill_all()
        found: list[tuple[object, object]] = []
        wanted = None if key is None else (self._identity(key) if self._identity is not None else key)
        for groups in self._state.copied(key):
            chosen = groups.items() if key is None else [(wanted, groups[wanted])] if wanted in groups else []
            for identity, state in chosen:
                try:
                    value = self._code.result(state, self._parameters)
                except RecordFailure:
                    continue
                found.append((self._key_of(identity), value))
        return found

    def upkeep(self) -> Upkeep | None:
        return self._state.upkeep()

    def save(self) -> Mapping[int, bytes]:
        return self._state.save()

    def restore(self, state: Mapping[int, bytes]) -> None:
        self._state.restore(state)
        if self._code.arrivals:
            self._arrived = max([self._arrived, *self._state.arrivals()])
