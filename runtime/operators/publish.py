"""Publish policies: records are counted and gathered, and an instruction is made ready when the policy says so."""

from collections.abc import Iterable, Mapping
from operator import itemgetter
from typing import Any, cast

from ghcm.runtime.contract import INFINITY, Context, Outbox, Publication
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.native.code import PolicyCode
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operators.event_time import is_closed, lateness_of
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.runtime.state.packing import LazyState, pack, unpack
from ghcm.runtime.state.silences import Silences
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Publish
from ghcm.types import Struct


class PublishOperator(TaskOperator):
    """One counter for the policy. It keeps no records, only the aggregates that the next instruction will carry."""

    def __init__(self, task: Task, op: Publish, unit: Unit, code: PolicyCode, context: Context) -> None:
        super().__init__(task, unit, context)
        self._op = op
        self._code = code
        self._window = self._takes.columns.index("window") if self._takes.windowed else None
        self._lateness = lateness_of(task, unit)
        self._state: object = code.zero
        self._records = 0
        self._sequence = 0
        self._due: int | None = None
        self._windows: dict[tuple[int, int], object] = {}
        self._throttle = None if op.policy.throttle_us is None else Silences(op.policy.throttle_us)
        self._published: dict[object, int] = {}
        """When a record of a key has published last, as long as that keeps others from it."""

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        self.counts["rows"] += len(batch)
        dead = self._dead_to(outbox)
        for row in batch.rows():
            try:
                self._take(row, outbox)
            except RecordFailure as failure:
                dead(self._task.id, self._record(row), failure.reason, failure.detail)
        return ()

    def _take(self, row: Row, outbox: Outbox) -> None:
        policy, code, parameters = self._op.policy, self._code, self._parameters
        if policy.on == "window_close":
            assert self._window is not None
            window: Any = row[self._window]
            self._windows[window] = code.add(self._windows.get(window, code.zero), row, parameters)
            return
        wanted, key = self._wanted(row)
        self._state = code.add(self._state, row, parameters)
        self._records += 1
        if policy.every_us is not None and self._due is None:
            self._due = self._context.now() + policy.every_us
        if (wanted and self._rested(row, key)) or self._records == policy.every_records:
            self._publish(outbox)

    def _wanted(self, row: Row) -> tuple[bool, object]:
        """Whether the record asks for an instruction, and by which key. It is asked first, since a state may change
        when it is added to; an argument that fails comes before a condition that does.
        """
        code, parameters = self._code, self._parameters
        try:
            wanted = code.when is not None and code.when(row, parameters)
            return wanted, code.key(row, parameters) if wanted and code.key is not None else None
        except RecordFailure:
            code.add(code.zero, row, parameters)
            raise

    def _rested(self, row: Row, key: object) -> bool:
        """Whether it is long enough since a record of that key has published, as this one then does."""
        if self._throttle is None:
            return True
        time: int = max(cast("tuple[int, int]", row[-2:]))
        if key in self._published and not self._throttle.silent(self._published[key], time):
            return False
        self._published[key] = time
        self._throttle.wait(key, time)
        return True

    def _publish(self, outbox: Outbox) -> None:
        state, self._state, self._records, self._due = self._state, self._code.zero, 0, None
        self._send(state, outbox)

    def _send(self, state: object, outbox: Outbox) -> None:
        try:
            arguments = self._code.arguments(state, self._parameters)
        except RecordFailure as failure:
            self._dead(outbox, (), Struct(()), failure.reason, failure.detail)
            return
        outbox.publish(Publication(self._op.call.unit, arguments, self._sequence, self._op.after))
        self._sequence += 1

    def advance(self, watermark: int, outbox: Outbox) -> Iterable[Batch]:
        for window in sorted(self._windows, key=itemgetter(1)):
            if is_closed(window[1], self._lateness, watermark):
                self._send(self._windows.pop(window), outbox)
        if self._throttle is not None:
            self._forget(self._throttle, watermark if watermark == INFINITY else watermark - self._lateness)
        return ()

    def _forget(self, throttle: Silences, passed: int) -> None:
        """Forget the keys that keep no record from publishing any more."""
        for key in throttle.due(passed):
            if throttle.silent(self._published[key], passed):
                del self._published[key]
            else:
                throttle.wait(key, self._published[key])

    def due(self) -> int | None:
        return self._due

    def flush(self, outbox: Outbox) -> Iterable[Batch]:
        """As `Operator.flush`: sends what the clock asks for."""
        if self._due is not None and self._context.now() >= self._due:
            self._publish(outbox)
        return ()

    def finish(self, outbox: Outbox) -> Iterable[Batch]:
        policy = self._op.policy
        if policy.on == "completion" or (policy.at_end and self._records):
            self._publish(outbox)
        self._due = None
        return ()

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: what changes in place is put down at once, the keys when they are written."""
        kept = pack((self._state, self._records, self._sequence, self._due, self._windows))
        published = list(self._published.items())
        return LazyState(lambda: {0: pack((kept, published))})

    def _put_back(self, kept: Any) -> None:
        said: Any
        said, published = kept
        self._state, self._records, self._sequence, self._due, self._windows = unpack(said)
        if self._throttle is not None:
            self._published = dict(published)
            for key, time in published:
                self._throttle.wait(key, time)
