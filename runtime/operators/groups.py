"""Keyed aggregations: reduce_by_key, aggregate_by_key, group_by_key and count, windowed, over bounded input, or as a
table kept for ever.

One state per key (and window). A batch is pre-aggregated in columns where the generated code can. A group whose value
cannot be given is a dead letter with the key and window as input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import islice, repeat
from operator import itemgetter
from typing import Any, TypeAlias, cast

from ghcm.functions import Failure
from ghcm.reducers import Custom, Fields, Reducer
from ghcm.runtime.batch import Batch
from ghcm.runtime.columns import Row, values
from ghcm.runtime.keys import identity_of, key_group, value_of
from ghcm.runtime.native.code import GroupCode, Parameters
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operator import INFINITY, NEVER, Context, Outbox
from ghcm.runtime.operators.chain import columnar, in_columns
from ghcm.runtime.operators.letters import Letters, group_type
from ghcm.runtime.operators.pending import Pending, chunks
from ghcm.runtime.operators.state import pack, unpack
from ghcm.runtime.operators.windows import lateness_of
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import AggregateByKey, Count, GroupByKey, ReduceByKey
from ghcm.types import Null, Shape, Type

__all__ = ["GroupOperator"]

GroupOp = ReduceByKey | AggregateByKey | GroupByKey | Count
_Attempt: TypeAlias = tuple[object, tuple[str, str] | None]
_Window: TypeAlias = tuple[int, int]
_UNWINDOWED: _Window = (NEVER, INFINITY)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where key, value and window stand in the input rows, and what the output looks like."""

    key: int | None
    value: int | None
    window: int | None
    key_type: Type
    names: tuple[str, ...]


class GroupOperator:
    """States by window start (or under one for unwindowed input), then by identity of the key."""

    def __init__(self, task: Task, op: GroupOp, unit: Unit, code: GroupCode, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._task = task
        self._context = context
        self._letters = Letters(unit, task)
        takes = unit.task(task.inputs[0].producer).collection
        self._takes = takes
        columns = takes.columns
        keyed = takes.shape is not Shape.STREAM
        key = columns.get("key") if keyed else None
        self._layout = _Layout(
            None if key is None else columns.index("key"),
            columns.index("value") if "value" in columns.names else None,
            columns.index("window") if takes.windowed else None,
            Null() if key is None else key.type,
            task.schema.names,
        )
        self._identity = None if key is None else identity_of(key.type)
        self._key_value = None if key is None else value_of(key.type)
        self._code = _forgiving(code) if isinstance(op, ReduceByKey) and _has_lambda(op.reducer) else code
        self._lateness = lateness_of(task, unit)
        self._table = task.collection.shape is Shape.TABLE
        self._counts_nothing = isinstance(op, Count) and not keyed and takes.bounded and not takes.windowed
        self._windows: dict[_Window, dict[object, object]] = {}
        self._changed: set[object] = set()
        self._pending = Pending()
        self._places: dict[object, int] = {}
        """The key group of each key that the last snapshot held: to work it out is dearer than all else in `save`."""

    # --- records -----------------------------------------------------------------------------------------------------

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        """As `Operator.process`."""
        if self._code.partial is not None and columnar(batch, self._context) and self._columns(batch):
            self.counts["columns"] += len(batch)
        else:
            self.counts["rows"] += len(batch)
            self._rows(batch, outbox)
        return True

    def _columns(self, batch: Batch) -> bool:
        code, layout = self._code, self._layout
        assert code.partial is not None and code.states is not None
        partial = code.partial
        frame = in_columns(lambda: partial(batch.frame(), self._context.parameters))
        if frame is None:
            return False
        keys: Iterable[object] = repeat(()) if layout.key is None else values(frame["key"], layout.key_type)
        windows = None if layout.window is None else zip(frame["start"].to_list(), frame["end"].to_list(), strict=True)
        self._merge(keys, windows, code.states(frame))
        return True

    def _merge(self, keys: Iterable[object], windows: Iterable[_Window] | None, states: list[object]) -> None:
        identity = self._identity
        identities = list(islice(keys, len(states)) if identity is None else map(identity, islice(keys, len(states))))
        if windows is None:
            self._add_states(self._groups(_UNWINDOWED), identities, states)
        else:
            for window, key, state in zip(windows, identities, states, strict=True):
                self._add_states(self._groups(window), (key,), (state,))
        if self._table:
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
            if self._table:
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
        if self._code.slices is not None:
            yield from self._closed_slices(watermark, *self._code.slices, outbox)
            return
        for window in sorted(self._windows, key=itemgetter(1)):
            if watermark == INFINITY or window[1] + self._lateness <= watermark:
                yield from self._batches(self._windows.pop(window), window, outbox)

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
        return self._pending.give(outbox, lambda: self._latest(outbox))

    def _latest(self, outbox: Outbox) -> Iterator[Batch]:
        if self._changed:
            groups = self._groups(_UNWINDOWED)
            changed, self._changed = self._changed, set()
            yield from self._batches({key: state for key, state in groups.items() if key in changed}, None, outbox)

    def finish(self, outbox: Outbox) -> bool:
        """As `Operator.finish`: the results of bounded unwindowed input."""
        return self._pending.give(outbox, lambda: self._last(outbox))

    def _last(self, outbox: Outbox) -> Iterator[Batch]:
        if self._table:
            yield from self._latest(outbox)
        elif self._layout.window is None:
            groups: dict[object, object] = self._windows.pop(_UNWINDOWED, {})
            if self._counts_nothing and not groups:
                groups = {(): 0}
            yield from self._batches(groups, None, outbox)

    def _batches(self, groups: Mapping[object, object], window: _Window | None, outbox: Outbox) -> Iterator[Batch]:
        rows: list[Row] = []
        hidden = (window[1] - 1, NEVER) if window is not None and self._task.collection.timed else ()
        for identity, state in groups.items():
            key = self._key_value(identity) if self._key_value is not None else identity
            try:
                value = self._code.result(state, self._context.parameters)
            except RecordFailure as failure:
                self._dead_group(key, window, failure, outbox)
                continue
            parts: dict[str, object] = {"key": key, "value": value, "window": window}
            rows.append(
                (*(parts[name] for name in self._layout.names), *hidden) if self._plain else (*_spread(value), *hidden)
            )
        yield from chunks(self._task.schema, rows, self._context.rows, timed=self._task.collection.timed)

    @property
    def _plain(self) -> bool:
        return all(name in ("key", "value", "window") for name in self._layout.names)

    def _dead_group(self, key: object, window: _Window | None, failure: RecordFailure, outbox: Outbox) -> None:
        type_ = group_type(self._takes.columns)
        if self._layout.key is None:
            type_ = type(type_)(tuple(field for field in type_.fields if field.name != "key"))
        value = tuple(key if field.name == "key" else window for field in type_.fields)
        self._letters.other(outbox, value, type_, failure.reason, failure.detail)

    def copy(self, key: object = None) -> list[tuple[object, object]]:
        """As `Table.copy`; windows are not told apart, and groups without a value are left out."""
        found: list[tuple[object, object]] = []
        wanted = None if key is None else (self._identity(key) if self._identity is not None else key)
        for groups in self._windows.values():
            chosen = groups.items() if key is None else [(wanted, groups[wanted])] if wanted in groups else []
            for identity, state in chosen:
                try:
                    value = self._code.result(state, self._context.parameters)
                except RecordFailure:
                    continue
                found.append((self._key_value(identity) if self._key_value is not None else identity, value))
        return found

    # --- state -------------------------------------------------------------------------------------------------------

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`."""
        groups: dict[int, list[tuple[object, ...]]] = {}
        key_value, known, places = self._key_value, self._places, dict[object, int]()
        for window, states in self._windows.items():
            for identity, state in states.items():
                key = key_value(identity) if key_value is not None else identity
                group = known.get(identity)
                if group is None:
                    group = self._key_group(key)
                places[identity] = group
                groups.setdefault(group, []).append((window, key, state))
        self._places = places
        return {group: pack(entries) for group, entries in groups.items()}

    def _key_group(self, key: object) -> int:
        layout = self._layout
        return 0 if layout.key is None else key_group(key, layout.key_type, self._context.groups)

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        for data in state.values():
            for window, key, kept in unpack(data):
                self._groups(window)[self._identity(key) if self._identity is not None else key] = kept


def _spread(value: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)


# --- reducers that can fail ------------------------------------------------------------------------------------------


def _has_lambda(reducer: Reducer) -> bool:
    match reducer:
        case Custom():
            return True
        case Fields(parts=parts):
            return any(map(_has_lambda, parts))
        case _:
            return False


def _forgiving(code: GroupCode) -> GroupCode:
    """The same aggregation where a failing reducer spoils its group, not the record: the group's result then fails.

    Its states are pairs: the reducer's own state, or None, and why it failed, or None.
    """

    def attempt(compute: Callable[[], object], *before: _Attempt) -> _Attempt:
        for each in before:
            if each[1] is not None:
                return each
        try:
            return compute(), None
        except RecordFailure as failure:
            return None, (failure.reason.value, failure.detail)

    def add(state: Any, value: object, parameters: Parameters) -> object:
        return attempt(lambda: code.add(state[0], value, parameters), state)

    def merge(left: Any, right: Any, parameters: Parameters) -> object:
        return attempt(lambda: code.merge(left[0], right[0], parameters), left, right)

    def result(state: Any, parameters: Parameters) -> object:
        if state[1] is not None:
            raise RecordFailure(Failure(state[1][0]), state[1][1])
        return code.result(state[0], parameters)

    def first(value: object, parameters: Parameters) -> object:
        return attempt(lambda: code.first(value, parameters))

    return GroupCode(first, add, merge, result, slices=code.slices)
