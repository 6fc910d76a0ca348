"""Iterations of bounded input: the operators of the step on everything that the round before gave, round after round.

The input is kept until it ends. A round makes new operators and gives them their inputs one after the other, each
operator everything at once, so that nothing of a round outlives it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, cast

from ghcm.runtime.contract import INFINITY, Context, Operator, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.native.code import IterateCode, TaskCode, TotalsCode
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operators.task_operator import TaskOperator, batch_of
from ghcm.spg.graph import Task, Unit, entry_of, leading_to, step_unit
from ghcm.spg.ops import Iterate
from ghcm.types import Null, Struct

Make: TypeAlias = Callable[[Task, Unit, TaskCode | None, Context], Operator]


class IterateOperator(TaskOperator):
    """Keeps its inputs as they came. `rounds`: how many there were."""

    rounds = 0

    def __init__(self, task: Task, op: Iterate, unit: Unit, code: IterateCode, context: Context, make: Make) -> None:
        super().__init__(task, unit, context)
        self._op = op
        self._step = step_unit(unit, task, op)
        self._kept_by = () if op.known is None else leading_to(op.tasks, op.known)
        self._added_by = leading_to(op.tasks, op.result)
        self._code = code
        self._make = make
        self._taken: list[list[Batch]] = [[] for _ in task.inputs]

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        self._taken[ordinal].append(batch)
        return ()

    def finish(self, outbox: Outbox) -> Iterator[Batch]:
        state = added = [self._fitting(batch, "") for batch in self._taken[0]]
        kept: list[Batch] = []
        for number in range(1, self._limit(outbox) + 1):
            self.rounds = number
            before = state
            if self._op.known is None:
                state = self._round(self._op.tasks, self._op.result, state, outbox)
            else:
                kept += self._round(self._kept_by, self._op.known, added, outbox)
                added = self._round(self._added_by, self._op.result, added, outbox)
                state = [*kept, *added]
            if self._ended(before, state, outbox):
                break
        self._taken = [[] for _ in self._taken]
        yield from state

    def _limit(self, outbox: Outbox) -> int:
        try:
            limit = self._code.limit(self._parameters)
        except RecordFailure as failure:
            self._dead(outbox, None, Null(), failure.reason, failure.detail)
            return 0
        return max(0, limit) if isinstance(limit, int) else 0

    def _round(self, tasks: Sequence[Task], result: str, state: Sequence[Batch], outbox: Outbox) -> list[Batch]:
        """What a task of the step gives for the records of a round, by the tasks before it."""
        given: dict[str, Sequence[Batch]] = {entry_of(index): each for index, each in enumerate(self._taken)}
        given[entry_of(0)] = state
        for task in tasks:
            operator = self._make(task, self._step, self._code.tasks.get(task.id), self._context)
            inputs = [given[edge.producer] for edge in task.inputs]
            given[task.id] = [batch for batch in _given(operator, inputs, outbox) if len(batch)]
            for form, count in getattr(operator, "counts", {}).items():
                self.counts[form] += count
        return [self._fitting(batch, "") for batch in given[result]]

    def _ended(self, before: Sequence[Batch], after: Sequence[Batch], outbox: Outbox) -> bool:
        code = self._code
        if code.until is None:
            return False
        try:
            totals = (self._totals(code.before, before), self._totals(code.after, after))
            return code.until(*totals, self._parameters)
        except RecordFailure as failure:
            self._dead(outbox, None, Null(), failure.reason, failure.detail)
            return False

    def _totals(self, code: TotalsCode | None, batches: Sequence[Batch]) -> object:
        if code is None:
            return ()
        if code.add is None:
            return code.result((sum(map(len, batches)),) * len(code.zero), self._parameters)
        whole, state = isinstance(self._task.collection.element, Struct), cast("object", code.zero)
        for batch in batches:
            for row in batch.rows():
                state = code.add(state, row if whole else row[0], self._parameters)
        return code.result(state, self._parameters)

    def _kept(self) -> object:
        taken = [[(batch.partition, list(batch.rows())) for batch in side] for side in self._taken]
        return taken if any(taken) else None

    def _put_back(self, kept: Any) -> None:
        for side, batches, taken in zip(self._sides, kept, self._taken, strict=True):
            taken += [batch_of(side, rows, partition) for partition, rows in batches]


def _given(operator: Operator, inputs: Sequence[Sequence[Batch]], outbox: Outbox) -> Iterator[Batch]:
    """Everything that an operator makes of its inputs."""
    for ordinal, batches in enumerate(inputs):
        for batch in batches:
            yield from operator.process(ordinal, batch, outbox)
    yield from operator.advance(INFINITY, outbox)
    yield from operator.finish(outbox)
    yield from operator.flush(outbox)
