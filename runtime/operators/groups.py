"""Keyed aggregations: reduce_by_key, aggregate_by_key, group_by_key and count, windowed, over bounded input, or as a
table kept for ever.

One state per key (and window). A batch is pre-aggregated in columns where the generated code can. A group whose value
cannot be given is a dead letter with the key and window as input.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from operator import itemgetter
from typing import Any, TypeAlias, cast

import polars as pl

from ghcm.runtime.batch import Batch
from ghcm.runtime.columns import Row, series, values
from ghcm.runtime.keys import grouping, identity_of, value_of
from ghcm.runtime.native.code import GroupCode
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operator import INFINITY, NEVER, Context, Outbox
from ghcm.runtime.operators.chain import columnar, in_columns
from ghcm.runtime.operators.forgiving import forgiving, has_lambda
from ghcm.runtime.operators.frame_state import FrameState, unpack_groups
from ghcm.runtime.operators.group_frames import GroupFrames, by_window, read_groups
from ghcm.runtime.operators.group_layout import layout_of, spread
from ghcm.runtime.operators.letters import Letters, group_type
from ghcm.runtime.operators.pending import Pending, chunks
from ghcm.runtime.operators.state import pack
from ghcm.runtime.operators.windows import lateness_of
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import AggregateByKey, Count, GroupByKey, ReduceByKey
from ghcm.types import Shape

__all__ = ["GroupOperator"]

GroupOp = ReduceByKey | AggregateByKey | GroupByKey | Count
_Window: TypeAlias = tuple[int, int]
_UNWINDOWED: _Window = (NEVER, INFINITY)


class GroupOperator:
    """States by window start (or under one for unwindowed input), then by identity of the key."""

    def __init__(self, task: Task, op: GroupOp, unit: Unit, code: GroupCode, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._task = task
        self._context = context
        self._letters = Letters(unit, task)
        takes = unit.task(task.inputs[0].producer).collection
        self._takes = takes
        self._layout = layout = layout_of(takes, task)
        self._identity = None if layout.key is None else identity_of(layout.key_type)
        self._key_value = None if layout.key is None else value_of(layout.key_type)
        self._code = forgiving(code) if isinstance(op, ReduceByKey) and has_lambda(op.reducer) else code
        self._lateness = lateness_of(task, unit)
        self._table = task.collection.shape is Shape.TABLE
        self._told = self._table and any(edge.producer == task.id for each in unit.tasks for edge in each.inputs)
        """Whether anybody takes the latest values; a table that is only read needs no results at commits."""
        self._counts_nothing = isinstance(op, Count) and layout.key is None and takes.bounded and not takes.windowed
        self._windows: dict[_Window, dict[object, object]] = {}
        self._changed: set[object] = set()
        self._pending = Pending()
        merges = self._code.merged is not None
        self._frames = GroupFrames(self._code, self._layout.key_type, context.unmerged) if merges else None
        self._fresh: list[pl.DataFrame] = []
        """The keys of columns that came since the latest values were told."""

    # --- records -----------------------------------------------------------------------------------------------------

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        """As `Operator.process`."""
        if self._code.partial is not None and self._prefers_columns(batch) and self._columns(batch):
            self.counts["columns"] += len(batch)
        else:
            self.counts["rows"] += len(batch)
            self._rows(batch, outbox)
        return True

    def _prefers_columns(self, batch: Batch) -> bool:
        """Windows whose groups are columns take few records that way too: single states among them would have all of
        them closed one by one, which in sliding windows is so once and for ever.
        """
        frames, context = self._frames, self._context
        if frames is None or self._layout.window is None or context.form != "auto":
            return columnar(batch, context)
        return bool(len(frames)) or self._code.slices is not None or columnar(batch, context)

    def _columns(self, batch: Batch) -> bool:
        partial = self._code.partial
        assert partial is not None and self._code.states is not None
        frame = in_columns(lambda: partial(batch.frame(), self._context.parameters))
        if frame is None:
            return False
        if self._frames is not None:
            self._frames.add(frame)
            if self._told:
                self._fresh.append(frame.select("key") if self._layout.key is not None else pl.DataFrame())
        else:
            self._merge(*read_groups(frame, self._layout.key_type, self._code.states))
        return True

    def _spill(self, frames: list[pl.DataFrame]) -> None:
        """Keep these groups as single states from now on."""
        assert self._frames is not None or not frames
        for frame in frames:
            assert self._frames is not None
            self._merge(*self._frames.read(frame))

    def _spill_all(self) -> None:
        if self._frames is not None:
            self._spill(self._frames.take(INFINITY))

    def _merge(self, keys: Sequence[object], windows: Iterable[_Window] | None, states: list[object]) -> None:
        identities = keys if self._identity is None else list(map(self._identity, keys))
        if windows is None:
            self._add_states(self._groups(_UNWINDOWED), identities, states)
        else:
            for window, key, state in zip(windows, identities, states, strict=True):
                self._add_states(self._groups(window), (key,), (state,))
        if self._told:
            self._changed.update(identities)

    def _add_states(self, groups: dict[object, object], keys: Sequence[object], states: Sequence[object]) -> None:
        merge, parameters = self._code.merge, self._context.parameters
        for key, state in zip(keys, states, strict=True):
            groups[key] = merge(groups[key], state, parameters) if key in groups else state

    def _groups(self, window: _Window) -> dict[object, object]:
        groups = self._windows.get(window)
        if groups is None:
            groups = self._windows[window] = {}
        return groups

    def _rows(self, batch: Batch, outbox: Outbox) -> None:
        layout, identity = self._layout, self._identity
        first, add, parameters = self._code.first, self._code.add, self._context.parameters
        timed = self._code.timed
        groups: dict[object, object] = {} if layout.window is not None else self._groups(_UNWINDOWED)
        last = None
        for row in batch.rows():
            key: object = () if layout.key is None else row[layout.key]
            if identity is not None:
                key = identity(key)
            if layout.window is not None:
                window: Any = row[layout.window]
                if window != last:
                    groups, last = self._groups(window), window
            value = None if layout.value is None else row[layout.value]
            if timed:
                value = row[-2], value
            try:
                groups[key] = add(groups[key], value, parameters) if key in groups else first(value, parameters)
            except RecordFailure as failure:
                dead = self._letters.to(outbox)
                for record in self._records(row):
                    dead(self._task.id, record, failure.reason, failure.detail)
                continue
            if self._told:
                self._changed.add(key)

    def _records(self, row: Row) -> Iterator[object]:
        """The record, or where it came in a pane the record in each of its windows."""
        record, place = row[: len(self._takes.columns.fields)], self._layout.window
        if self._code.slices is None or place is None:
            yield record
            return
        window: Any = record[place]
        size, every = self._code.slices
        for start in range(window[1] - size, window[0] + 1, every):
            yield (*record[:place], (start, start + size), *record[place + 1 :])

    # --- results -----------------------------------------------------------------------------------------------------

    def advance(self, watermark: int, outbox: Outbox) -> bool:
        """As `Operator.advance`: closes windows in the order of their ends."""
        return self._pending.give(outbox, lambda: self._closed(watermark, outbox))

    def _closed(self, watermark: int, outbox: Outbox) -> Iterator[Batch]:
        if self._layout.window is None:
            return
        until = INFINITY if watermark == INFINITY else watermark - self._lateness
        if self._code.slices is not None:
            if self._frames is not None and not self._windows:
                for place, slid in self._frames.slide(until, *self._code.slices):
                    yield from self._results(slid, place, outbox)
            if self._windows or (self._frames is not None and self._frames.least_end <= until):
                self._spill_all()
            yield from self._closed_slices(watermark, *self._code.slices, outbox)
            return
        taken = self._frames.take(until) if self._frames is not None else []
        if len(taken) > 1:
            self._spill(taken)
            taken = []
        closed = {window for window in self._windows if window[1] <= until}
        made = self._made(taken[0].sort("end")) if taken and not closed else None
        if made is not None:
            yield from self._cut(made)
            return
        frames = {window: frame for each in taken for window, frame in by_window(each)}
        for window in sorted(closed | frames.keys(), key=itemgetter(1)):
            frame = frames.get(window)
            if frame is not None and window in self._windows:
                self._spill([frame])
            if window in self._windows:
                yield from self._batches(self._windows.pop(window), window, outbox)
            elif frame is not None:
                yield from self._results(frame, window, outbox)

    def _results(self, frame: pl.DataFrame, window: _Window | None, outbox: Outbox) -> Iterator[Batch]:
        """The results of merged groups of one window, in columns if that can be."""
        made = self._made(frame)
        if made is not None:
            yield from self._cut(made)
            return
        self._spill([frame])
        yield from self._batches(self._windows.pop(window or _UNWINDOWED), window, outbox)

    def _made(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        """The results of merged groups, of any windows; None where single states must do it."""
        results = self._code.results
        return in_columns(lambda: results(frame)) if results is not None and self._identity is None else None

    def _cut(self, made: pl.DataFrame) -> Iterator[Batch]:
        whole = Batch.from_frame(self._task.schema, made, timed=self._task.collection.timed)
        most = self._context.rows * 8  # whoever takes it takes as much of it as it likes
        for start in range(0, len(whole), most):
            yield whole.slice(start, start + most)

    def _closed_slices(self, watermark: int, size: int, every: int, outbox: Outbox) -> Iterator[Batch]:
        """The sliding windows that close. States stand under panes; what is in a closed window goes on to the pane of
        the next window that has its slice.
        """
        merge, parameters = self._code.merge, self._context.parameters
        while self._windows:
            end = min(pane[1] for pane in self._windows)
            if watermark != INFINITY and end + self._lateness > watermark:
                return
            merged: dict[object, object] = {}
            for pane in [pane for pane in self._windows if pane[1] == end]:
                states = self._windows.pop(pane)
                for key, state in states.items():
                    merged[key] = merge(merged[key], state, parameters) if key in merged else deepcopy(state)
                if end - size + every <= pane[0]:
                    self._add_states(self._groups((pane[0], end + every)), list(states), list(states.values()))
            yield from self._batches(merged, (end - size, end), outbox)

    def flush(self, outbox: Outbox) -> bool:
        """As `Operator.flush`: a table gives the latest value of each key that changed."""
        return not self._told or self._pending.give(outbox, lambda: self._latest(outbox))

    def _latest(self, outbox: Outbox) -> Iterator[Batch]:
        if self._identity is not None:
            self._spill_all()
        changed, self._changed = self._changed, set()
        singles, found = self._windows.get(_UNWINDOWED, {}), self._renewed(changed)
        made = self._made(found[0]) if len(found) == 1 and self._apart(found[0], singles) else None
        if made is not None:
            yield from self._cut(made)
            changed -= set(self._keys_of(found[0])) if changed else set()
        else:
            states = self._together(found)
            yield from self._batches(self._both(states, singles), None, outbox)
            changed -= states.keys()
        yield from self._batches({key: state for key, state in singles.items() if key in changed}, None, outbox)

    def _apart(self, frame: pl.DataFrame, singles: Mapping[object, object]) -> bool:
        """Whether none of these groups has a single state, too."""
        return not singles or singles.keys().isdisjoint(self._keys_of(frame))

    def _keys_of(self, frame: pl.DataFrame) -> Sequence[object]:
        return values(frame["key"], self._layout.key_type) if self._layout.key is not None else [()]

    def _renewed(self, changed: Collection[object]) -> list[pl.DataFrame]:
        """What columns hold of these keys and of those that came in columns."""
        fresh, self._fresh = self._fresh, []
        if self._frames is None or not len(self._frames) or not (fresh or changed):
            return []
        return self._frames.of(self._keys([*fresh, *([self._named(changed)] if changed else [])]))

    def _keys(self, frames: list[pl.DataFrame]) -> pl.DataFrame:
        return pl.concat(frames) if frames and self._layout.key is not None else pl.DataFrame()

    def _named(self, keys: Iterable[object]) -> pl.DataFrame:
        return pl.DataFrame([series("key", list(keys), self._layout.key_type)])

    def _together(self, frames: Iterable[pl.DataFrame]) -> dict[object, object]:
        """The single states of unwindowed groups in columns."""
        states: dict[object, object] = {}
        for frame in frames:
            assert self._frames is not None
            keys, _, found = self._frames.read(frame)
            self._add_states(states, keys, found)
        return states

    def _both(self, states: Mapping[object, object], others: Mapping[object, object]) -> dict[object, object]:
        """States that nobody else holds, with what others have of their keys."""
        merge, parameters = self._code.merge, self._context.parameters
        return {key: merge(state, others[key], parameters) if key in others else state for key, state in states.items()}

    def finish(self, outbox: Outbox) -> bool:
        """As `Operator.finish`: the results of bounded unwindowed input."""
        return self._pending.give(outbox, lambda: self._last(outbox))

    def _last(self, outbox: Outbox) -> Iterator[Batch]:
        if self._table and self._told:
            yield from self._latest(outbox)
        elif self._table:
            self._spill_all()
            yield from self._batches(self._groups(_UNWINDOWED), None, outbox)
        elif self._layout.window is None:
            taken = self._frames.take(INFINITY) if self._frames is not None else []
            if len(taken) == 1 and not self._windows:
                yield from self._results(taken[0], None, outbox)
                return
            self._spill(taken)
            groups: dict[object, object] = self._windows.pop(_UNWINDOWED, {})
            if self._counts_nothing and not groups:
                groups = {(): 0}
            yield from self._batches(groups, None, outbox)

    def _batches(self, groups: Mapping[object, object], window: _Window | None, outbox: Outbox) -> Iterator[Batch]:
        rows: list[Row] = []
        hidden = (window[1] - 1, NEVER) if window is not None and self._task.collection.timed else ()
        names = self._layout.names
        plain, pairs = all(name in ("key", "value", "window") for name in names), names == ("key", "value")
        for identity, state in groups.items():
            key = self._key_value(identity) if self._key_value is not None else identity
            try:
                value = self._code.result(state, self._context.parameters)
            except RecordFailure as failure:
                self._dead_group(key, window, failure, outbox)
                continue
            if pairs:
                rows.append((key, value, *hidden))
                continue
            parts: dict[str, object] = {"key": key, "value": value, "window": window}
            rows.append((*(parts[name] for name in names), *hidden) if plain else (*spread(value), *hidden))
        yield from chunks(self._task.schema, rows, self._context.rows, timed=self._task.collection.timed)

    def _dead_group(self, key: object, window: _Window | None, failure: RecordFailure, outbox: Outbox) -> None:
        type_ = group_type(self._takes.columns)
        if self._layout.key is None:
            type_ = type(type_)(tuple(field for field in type_.fields if field.name != "key"))
        value = tuple(key if field.name == "key" else window for field in type_.fields)
        self._letters.other(outbox, value, type_, failure.reason, failure.detail)

    def copy(self, key: object = None) -> list[tuple[object, object]]:
        """As `Table.copy`; windows are not told apart, and groups without a value are left out."""
        if self._identity is not None or self._layout.window is not None:
            self._spill_all()
        found: list[tuple[object, object]] = []
        wanted = None if key is None else (self._identity(key) if self._identity is not None else key)
        for groups in self._copied(key):
            chosen = groups.items() if key is None else [(wanted, groups[wanted])] if wanted in groups else []
            for identity, state in chosen:
                try:
                    value = self._code.result(state, self._context.parameters)
                except RecordFailure:
                    continue
                found.append((self._key_value(identity) if self._key_value is not None else identity, value))
        return found

    def _copied(self, key: object) -> list[Mapping[object, object]]:
        """All states, or at least those of one key."""
        if self._frames is None or not len(self._frames):
            return list(self._windows.values())
        singles = self._windows.get(_UNWINDOWED, {})
        if key is None or self._layout.key is None:
            return [singles | self._both(self._together(self._frames.whole()), singles)]
        kept = {key: singles[key]} if key in singles else {}
        return [kept | self._both(self._together(self._frames.of(self._named([key]))), kept)]

    # --- state -------------------------------------------------------------------------------------------------------

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`."""
        groups: dict[int, list[tuple[object, ...]]] = {}
        group_of = grouping(self._layout.key_type, self._context.groups)
        for window, states in self._windows.items():
            keys = list(states if self._key_value is None else map(self._key_value, states))
            for key, state in zip(keys, states.values(), strict=True):
                group = 0 if self._layout.key is None else group_of(key)
                groups.setdefault(group, []).append((window, key, state))
        packed = {group: pack(entries) for group, entries in groups.items()}
        held = self._frames.held() if self._frames is not None else []
        return FrameState(packed, held) if held else packed

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        for data in state.values():
            singles, frame = unpack_groups(data)
            for window, key, kept in singles:
                self._groups(cast("_Window", window))[self._identity(key) if self._identity is not None else key] = kept
            if frame is not None:
                assert self._frames is not None
                self._frames.restore(frame)
