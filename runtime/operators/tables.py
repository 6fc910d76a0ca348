"""Tables to streams: the changes of a table, where a value is another than the last one given, and its final pairs."""

from collections.abc import Iterable, Iterator, Mapping

from ghcm.runtime.contract import Context, Outbox, Table
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.key_groups import grouping
from ghcm.runtime.data.keys import identity_of
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.runtime.state.packing import pack, unpack
from ghcm.spg.graph import Task, Unit

_FEW = 1024
"""Pairs that may be saved more than twice as often as needed."""


class ChangesOperator(TaskOperator):
    """Holds the last pair given of each key. A table gives its latest values at each commit and after a recovery some
    of them again, which are told from changes by that.
    """

    def __init__(self, task: Task, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._key_type = task.schema.fields[0].type
        self._key = identity_of(self._key_type)
        self._value = identity_of(task.schema.fields[1].type)
        self._group = grouping(self._key_type, context.groups)
        self._given: dict[object, Row] = {}
        self._unsaved: dict[object, Row] = {}
        self._parts: dict[int, list[bytes]] = {}
        self._parted = 0

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        self.counts["rows"] += len(batch)
        rows: list[Row] = []
        for row in batch.rows():
            key = row[0] if self._key is None else self._key(row[0])
            last = self._given.get(key)
            if last is None or self._differs(last[1], row[1]):
                self._given[key] = self._unsaved[key] = row
                rows.append(row)
        yield from self._cut(self._batch(rows))

    def _differs(self, one: object, other: object) -> bool:
        if self._value is not None:
            one, other = self._value(one), self._value(other)
        return (one,) != (other,)  # NaN is itself there, as in the language

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: the last pairs, by the key groups of their keys; as parts, of which the later ones hold
        what has changed since, so that a commit costs as much as has happened since the last one.
        """
        if self._parted > 2 * len(self._given) + _FEW:
            self._parts, self._parted, self._unsaved = {}, 0, dict(self._given)
        groups: dict[int, list[Row]] = {}
        for row in self._unsaved.values():
            groups.setdefault(self._group(row[0]), []).append(row)
        for group, rows in groups.items():
            self._parts.setdefault(group, []).append(pack(rows))
        self._parted += len(self._unsaved)
        self._unsaved = {}
        return {group: pack(parts) for group, parts in self._parts.items()}

    def restore(self, state: Mapping[int, bytes]) -> None:
        for group, data in state.items():
            parts: list[bytes] = unpack(data)
            self._parts[group] = parts
            for part in parts:
                rows: list[Row] = unpack(part)
                self._parted += len(rows)
                for row in rows:
                    self._given[row[0] if self._key is None else self._key(row[0])] = row


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
        yield from self._cut(self._batch(self._table.copy()))
