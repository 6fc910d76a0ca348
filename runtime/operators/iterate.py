"""Iterations of bounded input: the operators of the step on everything that the round before gave, round after round.

The input is kept until it ends. A round makes new operators and gives them their inputs one after the other, each
operator everything at once, so that nothing of a round outlives it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from ghcm.runtime.contract import INFINITY, Context, Operator, Outbox, Publication
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.native.code import IterateCode, TaskCode, TotalsCode
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operators.batches import Pending
from ghcm.runtime.operators.dead_letters import DeadLetters
from ghcm.runtime.state.packing import pack, unpack
from ghcm.spg.graph import Task, Unit, entry_of, step_unit
from ghcm.spg.ops import Iterate
from ghcm.types import Null, Struct

Make: TypeAlias = Callable[[Task, Unit, TaskCode | None, Context], Operator]


class IterateOperator(Operator):
    """Keeps its inputs as they came. `rounds` says how many rounds ran."""

    def __init__(self, task: Task, op: Iterate, unit: Unit, code: IterateCode, context: Context, make: Make) -> None:
        self.counts = {"rows": 0, "columns": 0}
        self.rounds = 0
        self._task = task
        self._op = op
        self._step = step_unit(unit, task, op)
        self._code = code
        self._context = context
        self._make = make
        self._letters = DeadLetters(unit, task)
        self._taken: list[list[Batch]] = [[] for _ in task.inputs]
        self._sides = [unit.task(edge.producer).collection for edge in task.inputs]
        self._pending = Pending()

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> bool:
        self._taken[ordinal].append(batch)
        return True

    def finish(self, outbox: Outbox) -> bool:
        return self._pending.give(outbox, lambda: self._last(outbox))

    def _last(self, outbox: Outbox) -> Iterator[Batch]:
        state, ended, limit = self._fitting(self._taken[0]), False, self._limit(outbox)
        while self.rounds < limit and not ended:
            after = self._fitting(self._round(state, outbox))
            ended = self._ended(state, after, outbox)
            state = after
            self.rounds += 1
        yield from state

    def _limit(self, outbox: Outbox) -> int:
        try:
            limit = self._code.limit(self._context.parameters)
        except RecordFailure as failure:
            self._letters.other(outbox, None, Null(), failure.reason, failure.detail)
            return 0
        return max(0, limit) if isinstance(limit, int) else 0

    def _round(self, state: Sequence[Batch], outbox: Outbox) -> Sequence[Batch]:
        given: dict[str, Sequence[Batch]] = {entry_of(index): each for index, each in enumerate(self._taken)}
        given[entry_of(0)] = state
        for task in self._step.tasks:
            if task.id not in given:
                operator = self._make(task, self._step, self._code.tasks.get(task.id), self._context)
                given[task.id] = _run(operator, [given[edge.producer] for edge in task.inputs], outbox)
                for form, count in getattr(operator, "counts", {}).items():
                    self.counts[form] += count
        return given[self._op.result]

    def _fitting(self, batches: Sequence[Batch]) -> list[Batch]:
        """The batches with the columns of the iteration, without event time."""
        schema, width = self._task.schema, len(self._task.schema.fields)
        return [
            Batch.from_frame(schema, batch.frame())
            if batch.columnar
            else Batch.from_rows(schema, [row[:width] for row in batch.rows()] if batch.timed else batch.rows())
            for batch in batches
        ]

    def _ended(self, before: Sequence[Batch], after: Sequence[Batch], outbox: Outbox) -> bool:
        code = self._code
        if code.until is None:
            return False
        try:
            totals = (self._totals(code.before, before), self._totals(code.after, after))
            return code.until(*totals, self._context.parameters)
        except RecordFailure as failure:
            self._letters.other(outbox, None, Null(), failure.reason, failure.detail)
            return False

    def _totals(self, code: TotalsCode | None, batches: Sequence[Batch]) -> object:
        if code is None:
            return ()
        whole, state = isinstance(self._task.collection.element, Struct), code.zero
        for batch in batches:
            for row in batch.rows():
                state = code.add(state, row if whole else row[0], self._context.parameters)
        return code.result(state, self._context.parameters)

    def save(self) -> Mapping[int, bytes]:
        taken = [[(batch.partition, list(batch.rows())) for batch in side] for side in self._taken]
        return {0: pack(taken)} if any(taken) else {}

    def restore(self, state: Mapping[int, bytes]) -> None:
        for data in state.values():
            for side, kept, taken in zip(self._sides, unpack(data), self._taken, strict=True):
                taken += [
                    Batch.from_rows(side.columns, rows, timed=side.timed, partition=partition)
                    for partition, rows in kept
                ]


class _Inside:
    """The outbox of an operator of a step: there is always room, and dead letters go outside."""

    def __init__(self, outside: Outbox) -> None:
        self.batches: list[Batch] = []
        self._outside = outside

    def offer(self, batch: Batch) -> bool:
        if len(batch):
            self.batches.append(batch)
        return True

    def dead(self, letter: DeadLetter) -> None:
        self._outside.dead(letter)

    def publish(self, publication: Publication) -> None:
        raise AssertionError("a step publishes nothing")


def _run(operator: Operator, inputs: Sequence[Sequence[Batch]], outbox: Outbox) -> list[Batch]:
    """Everything that an operator makes of its inputs."""
    inside = _Inside(outbox)
    for ordinal, batches in enumerate(inputs):
        for batch in batches:
            operator.process(ordinal, batch, inside)
    operator.advance(INFINITY, inside)
    operator.finish(inside)
    operator.flush(inside)
    return inside.batches
