"""Lookups: the records of a batch with what a service has for their keys, in their order or in that of the answers.

A batch is asked for as a whole, on a thread of its own; until all of it is answered nothing else is taken, so that what
waits stays at the source, and no barrier passes records that are still asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from ghcm.functions import Failure
from ghcm.runtime.contract import Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.lookups import Answer, Asker, NoAnswer
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.runtime.pubsub.connections import Connections
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Lookup
from ghcm.types import Struct, strip


class LookupOperator(TaskOperator):
    """Asks a service for the keys of a batch. Stateless: what it remembers of answers is made again."""

    def __init__(self, task: Task, op: Lookup, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        record = strip(self._schema.fields[1].type)
        assert isinstance(record, Struct), "a service has records"
        self._left = self._takes.columns.fields[1].type
        self._ordered = op.ordered
        connections = context.connections if isinstance(context.connections, Connections) else None
        self._asker = Asker(op, record, connections, f"{unit.name}-{task.id}")

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        rows = batch.rows()
        self.counts["rows"] += len(rows)
        answers: dict[object, Answer] = {None: None}
        waiting: dict[object, list[Row]] = {}
        for row in rows:
            waiting.setdefault(row[0], []).append(row)
        for answered in chain([answers], self._asker.answers([key for key in waiting if key is not None])):
            if self._ordered:
                answers |= answered
                continue
            some = [row for key in answered for row in waiting.get(key, ())]
            yield from self._cut(self._batch(self._joined(some, answered, outbox), batch.partition))
        if self._ordered:
            yield from self._cut(self._batch(self._joined(rows, answers, outbox), batch.partition))

    def _joined(self, rows: Sequence[Row], answers: Mapping[object, Answer], outbox: Outbox) -> list[Row]:
        made: list[Row] = []
        for key, left, *hidden in rows:
            answer = answers[key]
            if isinstance(answer, NoAnswer):
                self._dead(outbox, left, self._left, Failure.LOOKUP, answer.why)
            else:
                made.append((left, answer, *hidden))
        return made

    def close(self) -> None:
        """Ask nobody any more."""
        self._asker.close()
