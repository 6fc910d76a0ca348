"""The values of each key in lists of so many, in the order in which they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ghcm.runtime.contract import Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.keys import identity_of
from ghcm.runtime.operators.join import group_of
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.runtime.state.packing import key_groups, unpack
from ghcm.spg.graph import Task, Unit
from ghcm.spg.sequences import Chunks


class ChunksOperator(TaskOperator):
    """Keeps of each key the values that are too few."""

    def __init__(self, task: Task, op: Chunks, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._count = op.count
        self._identity = identity_of(self._takes.columns.fields[0].type)
        self._group = group_of(task.inputs[0].exchange, self._takes)
        self._begun: dict[object, tuple[object, list[object]]] = {}

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        self.counts["rows"] += len(batch)
        yield from self._gathered(self._taken(row) for row in batch.rows())

    def _taken(self, row: Row) -> tuple[Row, ...]:
        name, value = row[0], row[1]
        key = name if self._identity is None else self._identity(name)
        chunk = self._begun.setdefault(key, (name, []))
        chunk[1].append(value)
        return (self._begun.pop(key),) if len(chunk[1]) == self._count else ()

    def finish(self, outbox: Outbox) -> Iterable[Batch]:
        begun, self._begun = self._begun, {}
        return self._gathered((chunk,) for chunk in begun.values())

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: keys with their values, by key groups."""
        return key_groups(iter(self._begun.values()), self._group, change=True)

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        chunks: Any = (chunk for data in state.values() for chunk in unpack(data))
        for name, values in chunks:
            self._begun[name if self._identity is None else self._identity(name)] = (name, values)
