"""The changes of a table: its pairs as records, each where its value is another than the last one given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ghcm.runtime.batch import Batch
from ghcm.runtime.columns import Row
from ghcm.runtime.keys import grouping, identity_of
from ghcm.runtime.operator import Context, Outbox
from ghcm.runtime.operators.pending import Pending, chunks
from ghcm.runtime.operators.state import pack, unpack
from ghcm.spg.graph import Task

__all__ = ["ChangesOperator"]


class ChangesOperator:
    """Holds the last pair given of each key. A table gives its latest values at each commit and after a recovery some
    of them again, which are told from changes by that.
    """

    def __init__(self, task: Task, context: Context) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self._schema = task.schema
        self._context = context
        self._key_type = task.schema.fields[0].type
        self._key = identity_of(self._key_type)
        self._value = identity_of(task.schema.fields[1].type)
        self._given: dict[object, Row] = {}
        self._pending = Pending()

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        """As `Operator.process`."""
        return self._pending.give(outbox, lambda: self._changed(batch))

    def _changed(self, batch: Batch) -> Iterator[Batch]:
        self.counts["rows"] += len(batch)
        rows: list[Row] = []
        for row in batch.rows():
            key = row[0] if self._key is None else self._key(row[0])
            last = self._given.get(key)
            if last is None or self._differs(last[1], row[1]):
                self._given[key] = row
                rows.append(row)
        yield from chunks(self._schema, rows, self._context.rows, timed=False)

    def _differs(self, one: object, other: object) -> bool:
        if self._value is not None:
            one, other = self._value(one), self._value(other)
        return (one,) != (other,)  # NaN is itself there, as in the language

    def advance(self, watermark: int, outbox: Outbox) -> bool:
        """As `Operator.advance`."""
        return True

    def flush(self, outbox: Outbox) -> bool:
        """As `Operator.flush`."""
        return True

    def finish(self, outbox: Outbox) -> bool:
        """As `Operator.finish`."""
        return True

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: the last pairs, by the key groups of their keys."""
        groups: dict[int, list[Row]] = {}
        of_key = grouping(self._key_type, self._context.groups)
        for row in self._given.values():
            groups.setdefault(of_key(row[0]), []).append(row)
        return {group: pack(rows) for group, rows in groups.items()}

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        for data in state.values():
            for row in unpack(data):
                self._given[row[0] if self._key is None else self._key(row[0])] = row
