"""A tasklet that runs one operator: it takes items from its inputs, lines up barriers, and hands on what the operator
gives; and how much it does before others have their turn.

Sources and sinks have tasklets of their own (`source_tasklet`, `sink_tasklet`). When snapshots begin and what becomes
of what they hold is the unit's business (`Host`).
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Event

from ghcm.runtime.contract import (
    INFINITY,
    NEVER,
    Asking,
    Clock,
    Gate,
    Hoarder,
    Idler,
    Keeper,
    Muted,
    Operator,
    Outbox,
    Publication,
    WallClock,
)
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.engine.edge import Barrier, End, Item, Partitions, Watermark
from ghcm.runtime.engine.host import Host
from ghcm.runtime.engine.inlets import Ends, Inlets
from ghcm.runtime.engine.instances import Instance
from ghcm.runtime.engine.scheduler import Progress
from ghcm.runtime.engine.tasklet import Outputs, UnitTasklet
from ghcm.runtime.engine.watermarks import Follower, Inputs, least_of_partitions

_FORGETS, _DEAR = 1.05, 2.0
"""By how much the least that a record cost is taken to grow with each step; how much more than that is too much to be
the records' own cost.
"""
_LARGE, _DEAR_S = 2048, 0.01
"""Records that are worth the way to a compute thread and back; or how long they take, if they are fewer."""
_COMPUTE_STEP_S, _MOST_BESIDE = 0.05, 262_144
"""How long a step there may last, and how many records it may have."""


class StepSize:
    """How many records a step takes, so that it lasts about as long as it may: fewer when they are dear, more when they
    are cheap. A step that was long for another reason (work that is the same for any number, a busy machine) is not
    followed by shorter ones, which would only be more.
    """

    def __init__(self, least: int = 256, most: int = 65_536) -> None:
        self.rows = 2048
        self._least, self._most = least, most
        self._cheapest = math.inf

    def lasts(self, rows: int) -> float:
        """How long (seconds) a step of so many records lasts at least, as far as is known."""
        return 0.0 if self._cheapest == math.inf else rows * self._cheapest

    def took(self, rows: int, seconds: float, longest: float) -> None:
        """A step of so many records lasted so long; the next should last `longest` at most."""
        each = seconds / max(rows, 1)
        self._cheapest = min(each, self._cheapest * _FORGETS)
        if seconds > longest:
            if each < _DEAR * self._cheapest:
                self.rows = max(self._least, min(self.rows, int(rows * longest / seconds)))
        elif seconds * 3 < longest and rows * 2 > self.rows:
            self.rows = min(self._most, self.rows * 2)


class _Beside:
    """What a compute thread makes of a batch, and where an operator puts its failed records meanwhile; those of records
    that it has kept for later go on to the `outbox`, from the loop.
    """

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self.letters: list[DeadLetter] = []
        self.parts: deque[Batch] = deque()
        """What is made already, of an operator that asks others."""
        self.made: Future[list[Batch]] | None = None
        self.seconds = 0.0
        self.ready = Event()
        """Set when the thread has left the operator."""

    def dead(self, letter: DeadLetter) -> None:
        """As `Outbox.dead`."""
        if self.done:
            self._outbox.dead(letter)
        else:
            self.letters.append(letter)

    def publish(self, publication: Publication) -> None:
        """As `Outbox.publish`; policies work in the loop."""
        raise AssertionError(f"a compute thread publishes {publication}")

    @property
    def done(self) -> bool:
        """Whether it is made."""
        return self.made is not None

    def given(self) -> list[Batch]:
        """What was made, or what it has failed with."""
        assert self.made is not None, "asked for when it is done"
        return self.made.result()


class OperatorTasklet(UnitTasklet):
    """Runs an instance of an operator of one or several inputs. `done_before`: it had finished in the snapshot that it
    was restored from. `follower`: what it is told of other event times that its own may have to follow.
    `computes`: large batches in columns are processed by a compute thread, until which the tasklet does nothing else.
    """

    def __init__(
        self,
        instance: Instance,
        operator: Operator,
        ends: Ends,
        host: Host,
        *,
        urgent: bool = False,
        done_before: bool = False,
        follower: Follower | None = None,
        computes: bool = False,
    ) -> None:
        super().__init__(instance, host, ends.edges, urgent=urgent)
        self.operator = operator
        self.outbox = Outputs(instance.task, ends.routes, self.counters, host)
        self.watermark = NEVER
        self.size = StepSize(most=_MOST_BESIDE) if computes else StepSize()
        self._clock = operator if isinstance(operator, Clock) else None
        self._wall = operator if isinstance(operator, WallClock) else None
        self._gate = operator if isinstance(operator, Gate) else None
        self._ordinals = ends.ordinals
        self._inlets = Inlets(ends.edges)
        self._inputs = Inputs(self._inlets.ended)
        self._todo: deque[Callable[[], bool]] = deque()
        self._done_before = done_before
        self._computes = computes
        self._beside: _Beside | None = None
        self._asking = operator if isinstance(operator, Asking) else None
        self._own: ThreadPoolExecutor | None = None
        self._hoarder = operator if computes and isinstance(operator, Hoarder) else None
        self._keeper = operator if isinstance(operator, Keeper) and not computes else None
        self._idler = operator if isinstance(operator, Idler) else None
        self._follower = follower if self._idler is not None else None
        if self._follower is not None:
            self._follower.wake = partial(host.scheduler.wake, self)

    def close(self) -> None:
        """As `UnitTasklet.close`: forgets what was refused."""
        super().close()
        self.outbox.close()
        self._todo.clear()
        if self._asking is not None:
            self._asking.close()
        if self._own is not None:
            self._own.shutdown(wait=False)

    def step(self) -> Progress:
        """Finish what was refused, then handle one item."""
        if self._done:
            return Progress.DONE
        if self._follower is not None and self._follower.stirred:
            self._follower.stirred = False
            self._todo.append(self._tick)
        self.outbox.begin(time.perf_counter() + self._host.scheduler.step_s)
        if not self._work_off():
            return self._refused()
        found = self._inlets.take(self.size.rows, self._held)
        if found is None:
            return Progress.WAITING
        self._handle(*found)
        return Progress.WORKED if self._work_off() else self._refused()

    def _refused(self) -> Progress:
        return Progress.WORKED if self.outbox.cut_short else Progress.WAITING

    def _work_off(self) -> bool:
        while self._todo:
            call = self._todo.popleft()
            if not call():
                self._todo.appendleft(call)
                return False
        return True

    def _held(self, place: int) -> bool:
        """Whether the operator wants an input to wait, which it cannot while another waits for its barrier, or while
        this one stops what the other comes from.
        """
        if self._gate is None or self._inlets.aligning or not self._gate.holds(self._ordinals[place]):
            return False
        edge = self.edges[place]
        return not (edge.shared and edge.stuck)

    def _handle(self, place: int, item: Item) -> None:
        match item:
            case Batch():
                self.counters.took(item)
                ordinal, arrived = self._ordinals[place], self.edges[place].arrived
                self._todo.append(lambda: self._process(ordinal, item, arrived))
                if self._clock is not None or self._wall is not None:
                    self._todo.append(self._tick)
            case Watermark(time=moment):
                self._inputs.advance(place, moment)
                self._todo.append(self._tick)
            case Partitions(open=names):
                before = self._inputs.partitions
                self._inputs.open[place] = names
                after = self._inputs.partitions
                if after is not None and after != before:
                    self._begin(after - before if before is not None else frozenset())
                    self.outbox.send(Partitions(after))
                self._todo.append(self._tick)
            case Barrier(snapshot=snapshot):
                self._inlets.wait(place, snapshot)
                self._align()
            case End():
                self._ended(place)

    def _ended(self, place: int) -> None:
        """An edge has ended, and with it perhaps an input, or all."""
        ended, ordinal = self._inlets.ended, self._ordinals[place]
        ended[place] = True
        whole = all(each for each, other in zip(ended, self._ordinals, strict=True) if other == ordinal)
        if whole and self._gate is not None and not self._done_before:
            self._give(partial(self._gate.ended, ordinal))
        self._align()
        if all(ended):
            self._end()
        else:
            self._todo.append(self._tick)

    def _begin(self, partitions: frozenset[str]) -> None:
        """Partitions that are there only now have the time of the others: windows have closed by it."""
        if self._idler is not None:
            for partition in partitions:
                self._idler.follow(partition, self.watermark)

    def _process(self, ordinal: int, batch: Batch, arrived: float) -> bool:
        taken = self._processed(ordinal, batch)
        if taken:
            self.counters.done(arrived)
        return taken

    def _processed(self, ordinal: int, batch: Batch) -> bool:
        if self._is_beside(lambda: self._dear(batch)):

            def process(outbox: Outbox) -> Iterable[Batch]:
                return self.operator.process(ordinal, batch, Muted(outbox) if batch.taken_back else outbox)

            return self._made_beside(process, len(batch))
        started = time.perf_counter()
        outbox = Muted(self.outbox) if batch.taken_back else self.outbox
        taken = self.outbox.give(lambda: self.operator.process(ordinal, batch, outbox))
        self.size.took(len(batch), time.perf_counter() - started, self._host.scheduler.step_s)
        self._keep_up()
        return taken

    def _keep_up(self) -> None:
        """Have a compute thread do what the operator has for others."""
        work = self._keeper.upkeep() if self._keeper is not None else None
        if work is not None:
            self._host.scheduler.beside(work, self._put_in_place)

    def _put_in_place(self, made: Future[Callable[[], None]]) -> None:
        if self._done:
            return
        try:
            made.result()()
        except Exception as error:
            self.fail(error)
        else:
            self._keep_up()

    def rest(self) -> None:
        """Wait until no compute thread works on the operator: somebody is to look at what it keeps."""
        if self._beside is not None:
            self._beside.ready.wait()

    def _is_beside(self, dear: Callable[[], bool]) -> bool:
        """Whether the call at hand is made on another thread, which is decided when it begins."""
        return self._beside is not None or (not self.outbox.giving and dear())

    def _dear(self, batch: Batch) -> bool:
        if self._computes and batch.columnar and (len(batch) >= _LARGE or self.size.lasts(len(batch)) > _DEAR_S):
            return True
        return self._asking is not None or (self._hoarder is not None and self._hoarder.gathers(len(batch)))

    def _made_beside(self, make: Callable[[Outbox], Iterable[Batch]], rows: int) -> bool:
        """Give what a call of the operator makes on another thread, of so many records; whether all of it is given."""
        beside = self._beside or self._begin_beside(make, rows)
        while beside.parts:
            if not self.outbox.give(lambda: [beside.parts[0]]):
                return False
            beside.parts.popleft()
        if not beside.done:
            return False
        self._beside = None if (taken := self.outbox.give(beside.given)) else beside
        return taken

    def _begin_beside(self, make: Callable[[Outbox], Iterable[Batch]], rows: int) -> _Beside:
        beside, scheduler = _Beside(self.outbox), self._host.scheduler
        self._beside = beside

        def process() -> list[Batch]:
            started = time.perf_counter()
            try:
                made = make(beside)
                if self._asking is None:
                    return list(made)
                for part in made:  # which goes on while others wait for an answer
                    beside.parts.append(part)
                    scheduler.post(partial(scheduler.wake, self))
                return []
            finally:
                beside.seconds = time.perf_counter() - started
                if rows:
                    self.size.took(rows, beside.seconds, _COMPUTE_STEP_S)
                beside.ready.set()

        def done(made: Future[list[Batch]]) -> None:
            beside.made = made
            self.counters.beside_s += beside.seconds
            if not self._done:
                for letter in beside.letters:
                    self.outbox.dead(letter)
                scheduler.wake(self)

        if self._asking is None:
            scheduler.beside(process, done)
            return beside
        if self._own is None:
            self._own = ThreadPoolExecutor(1, f"ghcm-{self.name}")
        self._own.submit(process).add_done_callback(lambda made: scheduler.post(partial(done, made)))
        return beside

    def _tick(self) -> bool:
        """Let event time go on as far as the inputs, or the clock, allow."""
        if self._clock is not None:
            if self._follower is not None and self._idler is not None:
                self._follower.settle(self._inputs.partitions, self._idler)
            moment = least_of_partitions(self._inputs.partitions, self._clock.watermarks())
        else:
            moment = self._inputs.watermark if self._wall is None else self._wall.moment()
        if moment <= self.watermark or (self._gate is not None and self._gate.holding):
            return True
        if self._clock is None and not self._advanced(moment):
            return False
        self.watermark = moment
        return self.outbox.send(Watermark(moment))

    def _advanced(self, moment: int) -> bool:
        advance = partial(self.operator.advance, moment)
        if self._is_beside(lambda: self._hoarder is not None and self._hoarder.closes(moment)):
            return self._made_beside(advance, 0)
        return self.outbox.give(partial(advance, self.outbox))

    def _give(self, call: Callable[[Outbox], Iterable[Batch]]) -> None:
        self._todo.append(partial(self.outbox.give, partial(call, self.outbox)))

    def _align(self) -> None:
        """Pass the barrier once it has come on every edge that has not ended."""
        if not self._inlets.aligned():
            return
        snapshot = self._inlets.barrier

        def pass_on() -> bool:
            self._host.acknowledge(self.name, snapshot, self.outbox.saved(self.operator.save()))
            return self.outbox.send(Barrier(snapshot))

        if self._follower is not None and self._idler is not None and self._inputs.partitions is not None:
            self._idler.look(self._inputs.partitions)
        if self._wall is not None or self._follower is not None:  # windows close whether records come or not
            self._todo.append(self._tick)
        self._give(self.operator.flush)
        self._todo.append(pass_on)

    def _end(self) -> None:
        def end() -> bool:
            self._done = True
            self.watermark = INFINITY
            self.outbox.send(End())
            state = self.operator.save() if self._host.keeps_state else dict[int, bytes]()
            self._host.finished(self.name, self.outbox.saved(state, finished=True))
            return True

        if not self._done_before:
            for call in (partial(self.operator.advance, INFINITY), self.operator.finish, self.operator.flush):
                self._give(call)
        self._todo.append(end)
