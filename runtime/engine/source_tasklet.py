"""The tasklet of a source: it reads as long as there is room behind it, and sends barriers when its unit begins a
snapshot.
"""

from collections.abc import Callable, Sequence

from ghcm.functions import Failure
from ghcm.runtime.data.dead_letter import LONGEST, DeadLetter
from ghcm.runtime.engine.edge import Barrier, End, Partitions
from ghcm.runtime.engine.host import Host, Saved
from ghcm.runtime.engine.instances import Instance
from ghcm.runtime.engine.routes import Route
from ghcm.runtime.engine.scheduler import Pace, Progress, Timer
from ghcm.runtime.engine.tasklet import Outputs, UnitTasklet
from ghcm.runtime.sources.source import Divisible, Measured, Paced, Source
from ghcm.spg.graph import Task

_ROWS = 8192


class SourceTasklet(UnitTasklet):
    """Polls the source of an instance of a task of the unit of this name. `ready` says whether the unit takes anything
    just now.
    """

    def __init__(
        self,
        unit: str,
        task: Task,
        instance: Instance,
        source: Source,
        outputs: Sequence[Route],
        host: Host,
        *,
        ready: Callable[[], bool],
        urgent: bool,
    ) -> None:
        super().__init__(instance, host, urgent=urgent)
        self.source = source
        self.outbox = Outputs(task.id, outputs, self.counters, host)
        self._unit = unit
        self._origin = str(task.origin)
        self._ready = ready
        self._barrier: int | None = None
        self._open: frozenset[str] | None = None
        self._timer: Timer | None = None
        self._finished_before = False
        self._position: object = None

    def open(self, positions: Sequence[object] = (), *, finished: bool = False) -> None:
        """Open the source behind the positions of the instances that there were, or at its start. GhcmError if it
        cannot be. `finished`: it had ended already.
        """
        scheduler = self._host.scheduler
        position = positions[0] if positions else None
        if isinstance(self.source, Divisible):
            self.source.divide(self.instance.number, self.instance.of)
            position = self.source.together(positions) if len(positions) > 1 else position
        else:
            assert self.instance.of == 1, f"{type(self.source).__name__} would be read by each instance as a whole"

        if isinstance(self.source, Paced):
            self.source.pace(Pace(scheduler).rest)

        def wake() -> None:
            scheduler.post(lambda: scheduler.wake(self))

        self._finished_before = finished
        self._position = position
        if not finished:
            self.source.open(position, wake)
        scheduler.wake(self)

    def bytes_taken(self) -> int:
        """As many as it gives on: how many they were outside, sources do not say."""
        return self.counters.given_bytes

    def share(self) -> float | None:
        """How much of its input it has given on, from 0 to 1; None where its source does not know."""
        if self._done:
            return 1.0
        return self.source.share() if isinstance(self.source, Measured) else None

    def inject(self, snapshot: int) -> None:
        """Have the next step send this snapshot's barrier."""
        self._barrier = snapshot
        self._host.scheduler.wake(self)

    def close(self) -> None:
        """As `UnitTasklet.close`."""
        super().close()
        if self._timer is not None:
            self._timer.cancel()
        self.source.close()

    def step(self) -> Progress:
        """Send a barrier that is due, then one batch."""
        if self._done:
            return Progress.DONE
        if self._finished_before:
            return self._end()
        self._announce()
        if self._barrier is not None:
            snapshot, self._barrier = self._barrier, None
            self._host.acknowledge(self.name, snapshot, self.outbox.saved({}, position=self.source.position()))
            self.outbox.send(Barrier(snapshot))
        if not self._ready():
            return Progress.WAITING
        if not self.source.ended:
            if not self.outbox.has_room():
                return Progress.WAITING
            batch = self.source.poll(_ROWS, self._dead)
            if batch is not None:
                self._host.mark_dirty()
                self.counters.took(batch)
                self.outbox.offer(batch)
            self._announce()
            if not self.source.ended:
                return Progress.WORKED if batch is not None else self._wait()
        return self._end()

    def _announce(self) -> None:
        partitions = self.source.partitions()
        if partitions != self._open:
            self._open = partitions
            self.outbox.send(Partitions(partitions))

    def _dead(self, reason: Failure, detail: str, text: str) -> None:
        self._host.mark_dirty()
        self.outbox.dead(DeadLetter(self._unit, self.instance.task, reason, detail, text[:LONGEST], self._origin))

    def _wait(self) -> Progress:
        due = self.source.due
        if due is not None and (self._timer is None or self._timer.cancelled):

            def again() -> None:
                self._timer = None
                self._host.scheduler.wake(self)

            self._timer = self._host.scheduler.at(due, again)
        return Progress.WAITING

    def _end(self) -> Progress:
        self._done = True
        if self._finished_before:  # in the snapshot: nothing new happens
            saved = Saved(position=self._position, finished=True)
            self.outbox.send(Partitions(frozenset()))
        else:
            self._host.mark_dirty()
            saved = self.outbox.saved({}, position=self.source.position(), finished=True)
            self.source.close()
        self.outbox.send(End())
        self._host.finished(self.name, saved)
        return Progress.DONE
