"""Tables and what becomes of them: those of the newest records and those that forget keys, their changes as records
that stay, their pairs as they come and are taken back, and their final pairs.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from ghcm.runtime.contract import NEVER, ColumnarTable, Context, Outbox, Table
from ghcm.runtime.data.batch import TAKEN_BACK, Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.key_groups import grouping
from ghcm.runtime.data.keys import identity_of
from ghcm.runtime.native.code import GroupCode
from ghcm.runtime.native.order import order_of
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operators.fallible_reducers import fallible, has_lambda
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.runtime.state.kept_rows import KeptRows
from ghcm.runtime.state.silences import Silences
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Forgetting, Latest, ReduceByKey
from ghcm.types import Field, Shape, Struct


class PairsOperator(TaskOperator):
    """What keeps a pair of each key, beginning with the key."""

    def __init__(self, task: Task, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._key_type, value = self._takes.pair
        self._value = identity_of(value)
        self._identity = identity_of(self._key_type)
        group = grouping(self._key_type, context.groups)
        self._kept_pairs = KeptRows(self._name, lambda row: group(row[0]))

    def _name(self, row: Row) -> object:
        return row[0] if self._identity is None else self._identity(row[0])

    def _same(self, one: Row | None, other: Row | None) -> bool:
        """Whether both hold the same value, or are both nothing."""
        if one is None or other is None:
            return one is other
        values = (one[1], other[1])
        if self._value is not None:
            values = (self._value(one[1]), self._value(other[1]))
        return (values[0],) == (values[1],)  # NaN is itself there, as in the language

    def save(self) -> Mapping[int, bytes]:
        return self._kept_pairs.save()

    def restore(self, state: Mapping[int, bytes]) -> None:
        self._kept_pairs.restore(state)

    def _revised(self, pairs: Iterable[tuple[Row | None, Row | None]]) -> Iterator[Batch]:
        """What is taken back and what comes instead, where what was given of a key differs from what is now."""
        differ = [(before, now) for before, now in pairs if not self._same(before, now)]
        yield from self._cut(self._batch([before for before, _ in differ if before is not None], TAKEN_BACK))
        yield from self._cut(self._batch([now for _, now in differ if now is not None]))


class KeptTable(PairsOperator):
    """Keeps something of each key, behind the key, and gives at a commit what has become of the keys that have changed.

    With `ttl_us` it forgets keys that are silent for so long, and a third part says when each was heard of last.
    """

    def __init__(self, task: Task, unit: Unit, context: Context, ttl_us: int | None) -> None:
        super().__init__(task, unit, context)
        self._result_value = identity_of(task.collection.pair[1])
        self._table = task.collection.shape is Shape.TABLE
        self._told = self._table and any(edge.producer == task.id for each in unit.tasks for edge in each.inputs)
        self._before: dict[object, Row | None] = {}
        """Of keys that have changed what was given on last."""
        self._silences = None if ttl_us is None else Silences(ttl_us)

    @abstractmethod
    def _next(self, row: Row, kept: Row | None, outbox: Outbox) -> object:
        """What is kept of a key from this row on; None for nothing."""

    @abstractmethod
    def _shown(self, kept: Row | None, outbox: Outbox | None = None) -> Row | None:
        """The pair of the table, of what is kept; None for none. What fails is a dead letter if there is an outbox."""

    def _note(self, name: object, kept: Row | None) -> None:
        if self._told and name not in self._before:
            self._before[name] = self._shown(kept)

    def _take_in_time(self, batch: Batch, silences: Silences, outbox: Outbox) -> None:
        for row in batch.rows():
            name, (time, watermark) = self._name(row), cast("tuple[int, int]", row[-2:])
            kept = self._kept_pairs.get(name)
            self._note(name, kept)
            if kept is not None and silences.silent(_heard(kept), watermark):
                kept = None
            heard = time if kept is None else max(time, _heard(kept))
            made = self._next(row, kept, outbox)
            if made is None or silences.silent(heard, watermark):
                self._kept_pairs.drop(name)
            else:
                self._kept_pairs.put(name, (row[0], made, heard))
                silences.wait(name, heard)

    def advance(self, watermark: int, outbox: Outbox) -> Iterable[Batch]:
        """As `Operator.advance`: forgets the keys that are silent."""
        silences = self._silences
        for name in silences.due(watermark) if silences is not None else ():
            kept = self._kept_pairs.get(name)
            if silences is None or kept is None:
                continue
            if silences.silent(_heard(kept), watermark):
                self._note(name, kept)
                self._kept_pairs.drop(name)
            else:
                silences.wait(name, _heard(kept))
        return ()

    def restore(self, state: Mapping[int, bytes]) -> None:
        super().restore(state)
        if self._silences is not None:
            for row in self._kept_pairs:
                self._silences.wait(self._name(row), _heard(row))

    def _same(self, one: Row | None, other: Row | None) -> bool:
        if one is None or other is None or self._result_value is None:
            return one == other
        return (self._result_value(one[1]),) == (self._result_value(other[1]),)

    def _pairs(self, outbox: Outbox | None = None) -> list[Row]:
        return [shown for kept in self._kept_pairs if (shown := self._shown(kept, outbox)) is not None]

    def flush(self, outbox: Outbox) -> Iterable[Batch]:
        """As `Operator.flush`: what has changed since the last time."""
        before, self._before = self._before, {}
        return self._revised((given, self._shown(self._kept_pairs.get(name), outbox)) for name, given in before.items())

    def finish(self, outbox: Outbox) -> Iterator[Batch]:
        """As `Operator.finish`: where it is no table, all pairs."""
        if not self._table:
            yield from self._cut(self._batch(self._pairs(outbox)))

    def copy(self, key: object = None) -> list[tuple[object, object]]:
        """As `Table.copy`."""
        if key is None:
            return [(row[0], row[1]) for row in self._pairs()]
        found = self._shown(self._kept_pairs.get(self._name((key,))))
        return [] if found is None else [(found[0], found[1])]


def _heard(kept: Row) -> int:
    """When the key was heard of last."""
    return cast("int", kept[2])


class LatestOperator(KeptTable):
    """Keeps the newest record of each key. Where there is an order it also keeps those that are deleted, lest one that
    is older comes after them.
    """

    def __init__(self, task: Task, op: Latest, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context, op.ttl_us)
        value = self._takes.pair[1]
        assert isinstance(value, Struct), "values say what is newest"
        names = value.names
        self._record_at = names.index("record")
        self._deleted_at = names.index("deleted") if "deleted" in names else None
        self._order = order_of(value) if "order" in names else None

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        self.counts["rows"] += len(batch)
        if self._silences is not None:
            self._take_in_time(batch, self._silences, outbox)
            return ()
        for row in batch.rows():
            name = self._name(row)
            kept = self._kept_pairs.get(name)
            if self._order is not None and kept is not None and not self._is_newer(row, kept):
                continue
            self._note(name, kept)
            if self._order is None and self._is_deleted(row):
                self._kept_pairs.drop(name)
            else:
                self._kept_pairs.put(name, (row[0], row[1]))
        return ()

    def _next(self, row: Row, kept: Row | None, outbox: Outbox) -> object:
        if self._order is None:
            return None if self._is_deleted(row) else row[1]
        return row[1] if kept is None or self._is_newer(row, kept) else kept[1]

    def _is_newer(self, row: Row, kept: Row) -> bool:
        assert self._order is not None
        newer: Any = self._order(row[1])
        return bool(newer > self._order(kept[1]))

    def _is_deleted(self, row: Row) -> bool:
        return self._deleted_at is not None and cast("Row", row[1])[self._deleted_at] is True

    def _shown(self, kept: Row | None, outbox: Outbox | None = None) -> Row | None:
        if kept is None or self._is_deleted(kept):
            return None
        return kept[0], cast("Row", kept[1])[self._record_at]


class ForgettingOperator(KeptTable):
    """Keeps the state of an aggregation of each key that is not silent."""

    def __init__(self, task: Task, op: Forgetting, unit: Unit, code: GroupCode, context: Context) -> None:
        super().__init__(task, unit, context, op.ttl_us)
        reducer = op.group.reducer if isinstance(op.group, ReduceByKey) else None
        self._code = fallible(code) if reducer is not None and has_lambda(reducer) else code
        self._arrived = NEVER
        """The number of the latest record, where some aggregate goes by arrival."""
        self._fresh = set[object]()
        """The names of the keys whose states no snapshot has, which is written while others change: these may."""

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        self.counts["rows"] += len(batch)
        assert self._silences is not None, "which makes it what it is"
        self._take_in_time(batch, self._silences, outbox)
        return ()

    def _next(self, row: Row, kept: Row | None, outbox: Outbox) -> object:
        value = (row[-2], row[1]) if self._code.timed else row[1]
        if self._code.arrivals:
            self._arrived = max(self._arrived + 1, self._context.now())
            value = self._arrived, value
        name = self._name(row)
        state = None if kept is None else kept[1] if name in self._fresh else deepcopy(kept[1])
        self._fresh.add(name)
        try:
            if kept is None:
                return self._code.first(value, self._parameters)
            return self._code.add(state, value, self._parameters)
        except RecordFailure as failure:
            self._dead_to(outbox)(self._task.id, self._record(row), failure.reason, failure.detail)
            return state

    def save(self) -> Mapping[int, bytes]:
        self._fresh.clear()
        return super().save()

    def restore(self, state: Mapping[int, bytes]) -> None:
        super().restore(state)
        for row in self._kept_pairs if self._code.arrivals else ():
            parts = cast("Sequence[Any]", row[1])
            numbers = (parts[index][-1][0] for index in self._code.arrivals if parts[index] is not None)
            self._arrived = max([self._arrived, *numbers])

    def _shown(self, kept: Row | None, outbox: Outbox | None = None) -> Row | None:
        if kept is None:
            return None
        try:
            return kept[0], deepcopy(self._code.result(kept[1], self._parameters))  # the state may change in place
        except RecordFailure as failure:
            if outbox is not None:
                key_only = Struct((Field("key", self._key_type),))
                self._dead(outbox, (kept[0],), key_only, failure.reason, failure.detail)
            return None


class RevisionsOperator(PairsOperator):
    """Takes back of a table's pairs what the next value of a key replaces. Of a table that does so by itself it keeps
    nothing, and gives its pairs on as they are.
    """

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        if self._takes.changing:
            return (self._fitting(batch, batch.partition),)
        self.counts["rows"] += len(batch)
        newest = {self._name(row): row for row in batch.rows()}
        found: list[tuple[Row | None, Row | None]] = []
        for name, row in newest.items():
            before = self._kept_pairs.get(name)
            if not self._same(before, row):
                found.append((before, row))
                self._kept_pairs.put(name, row)
        return self._revised(found)


class ChangesOperator(PairsOperator):
    """Holds the last pair given of each key. A table gives its latest values at each commit and after a recovery some
    of them again, which are told from changes by that. Of a table that takes pairs back it waits for the commit, until
    when another may come in the place of one.
    """

    def __init__(self, task: Task, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._now: dict[object, Row | None] = {}
        """Of a table that takes pairs back what it holds of keys that have changed."""
        self._keys: dict[object, object] = {}

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        self.counts["rows"] += len(batch)
        if self._takes.changing:
            for row in batch.rows():
                name = self._name(row)
                self._now[name], self._keys[name] = (None if batch.taken_back else row), row[0]
            return
        yield from self._cut(self._batch(self._changed(batch.rows())))

    def _changed(self, rows: Sequence[Row]) -> list[Row]:
        changed: list[Row] = []
        for row in rows:
            name = self._name(row)
            if not self._same(self._kept_pairs.get(name), row):
                self._kept_pairs.put(name, row)
                changed.append(row)
        return changed

    def flush(self, outbox: Outbox) -> Iterator[Batch]:
        """As `Operator.flush`: what has come, and null for the keys that are gone."""
        now, keys, self._now, self._keys = self._now, self._keys, {}, {}
        changed = self._changed([row for row in now.values() if row is not None])
        for name, row in now.items():
            if row is None and self._kept_pairs.get(name) is not None:
                self._kept_pairs.drop(name)
                changed.append((keys[name], None))
        yield from self._cut(self._batch(changed))


class FinalOperator(TaskOperator):
    """Keeps nothing: at the end it reads the table where it stands, so that a value that the table gave at a commit and
    took back later is not taken for its last one.
    """

    def __init__(self, task: Task, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._table: Table | None = None

    def reads(self, table: Table) -> None:
        self._table = table

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        """As `Operator.process`: what a table gives before its end is not final."""
        self.counts["rows"] += len(batch)
        return ()

    def finish(self, outbox: Outbox) -> Iterator[Batch]:
        """As `Operator.finish`: all pairs of the table."""
        assert self._table is not None, "wired to its table"
        whole = self._table.whole() if isinstance(self._table, ColumnarTable) else None
        if whole is None:
            yield from self._cut(self._batch(self._table.copy()))
            return
        for batch in whole:
            yield self._fitting(batch, "")
