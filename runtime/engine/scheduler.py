"""The cooperative scheduler of a slot: one loop, one thread, tasklets that take turns.

A tasklet that has nothing to do is not asked again until something wakes it: an edge, a timer, or a thread beside the
loop through `post`. An idle loop sleeps on an event. The scheduler knows neither batches nor tasks.
"""

import gc
import heapq
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import count
from threading import Event, Lock, get_ident
from typing import Protocol, TypeVar

from ghcm.runtime.histogram import Histogram

T = TypeVar("T")

_URGENT_STEPS = 64
_COLLECT_S = 5.0
"""After how long an idle loop looks for garbage."""
_SOME_OBJECTS, _MANY_OBJECTS, _MOST_OBJECTS = 2_000, 50_000, 1_000_000
"""New objects among which an idle loop looks for garbage at once, which is nothing; among which any loop does, which
takes as long as a step; and where nobody waits for a step: most of what a batch makes is gone by itself when it has
passed.
"""
_FULL_IDLE_S, _FULL_BUSY_S = 500.0, 6000.0
"""After how long it looks among all objects, which takes as long as there are many."""
_SHORT_STEP_S, _LONG_STEP_S = 0.003, 0.06
_CALM_S = 5.0
_RESTS, _LONGEST_REST_S = 3.0, 0.1
"""How many times as long as the loop has worked a source rests; how long at most."""
_WAY_S = 0.005
"""How long data waits for calls at hand before it has a turn."""
_FEW_TIMERS = 64
_COMPUTE_THREADS = 2


class Progress(Enum):
    """What came of a step."""

    WORKED = "worked"
    """There may be more to do at once."""
    WAITING = "waiting"
    """Nothing to do, or no room, until something wakes the tasklet."""
    DONE = "done"
    """It will never have anything to do again."""


class Tasklet(Protocol):
    """What takes turns. `urgent` ones (calls) go before the others."""

    name: str
    urgent: bool

    def step(self) -> Progress:
        """Do a bounded piece of work, without ever blocking. What it raises goes to `fail`."""
        ...

    def fail(self, error: Exception) -> None:
        """A step raised this; the tasklet is not asked again."""

    def stepped(self, seconds: float) -> None:
        """A step has lasted so long."""


def _nothing() -> None: ...


@dataclass(order=True, slots=True)
class Timer:
    """A call at a time of the monotonic clock. It belongs to the loop's thread."""

    due: float
    order: int
    call: Callable[[], None] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        """Never make the call, and let go of what it holds: the timer itself may stay until it is due."""
        self.cancelled, self.call = True, _nothing


class Scheduler:
    """Runs tasklets, posted calls and timers until it is stopped. From other threads only `post`, `call`, `begin_call`,
    `stop` and what merely tells may be called. `busy_s` and `turns` tell how much it has worked, `held` how long each
    step, call, timer and collection of garbage took (seconds), `waiting` whether nothing is done now. `prompt`: its
    steps are short, as somebody may wait for them.
    """

    def __init__(self, *, tame_collector: bool = False, prompt: bool = True) -> None:
        self._ready: deque[Tasklet] = deque()
        self._urgent: deque[Tasklet] = deque()
        self._queued: set[int] = set()
        self._posted: deque[Callable[[], None]] = deque()
        self._timers: list[Timer] = []
        self._many_timers = _FEW_TIMERS
        self._order = count()
        self._event = Event()
        self._stopping = False
        self._ended = False
        self._asked: set[Callable[[], None]] = set()
        """The calls whose callers wait."""
        self._asking = Lock()
        self._thread: int | None = None
        self._tame = tame_collector
        self._many_objects = _MANY_OBJECTS if prompt else _MOST_OBJECTS
        self._collected = self._collected_all = time.monotonic()
        self.held = Histogram()
        self.turns = 0
        self.waiting = False
        self._called = -_CALM_S
        self._at_hand: dict[str, float] = {}
        """When calls have begun between whose steps no data should keep other threads from Python, for a while."""
        self._held_up = 0.0
        self._compute: ThreadPoolExecutor | None = None

    def wake(self, tasklet: Tasklet) -> None:
        """Give the tasklet a turn soon."""
        key = id(tasklet)
        if key not in self._queued:
            self._queued.add(key)
            if tasklet.urgent:
                self._called = time.monotonic()
            (self._urgent if tasklet.urgent else self._ready).append(tasklet)

    def post(self, call: Callable[[], None]) -> None:
        """Have the loop make this call between two steps; from any thread."""
        self._posted.append(call)
        self._event.set()

    def call(self, function: Callable[[], T]) -> T:
        """What the function gives, or raises, when the loop calls it between two steps. A loop that ends calls what
        waits then, lest the callers wait for ever; where it has ended, and within it, they call it themselves.
        """
        if self._thread == get_ident():
            return function()
        answer: Future[T] = Future()

        def run() -> None:
            self._asked.discard(run)
            if answer.done():
                return
            try:
                answer.set_result(function())
            except BaseException as error:  # it belongs to the caller; a panic of Polars is no Exception
                answer.set_exception(error)

        with self._asking:
            ended = self._ended
            if not ended:
                self._asked.add(run)
                self.post(run)
        return function() if ended else answer.result()

    def begin_call(self, id: str, run: Callable[[], None]) -> None:
        """Have the loop `run` a call that is at hand, which should be over soon: data gives way to it, and to the
        threads that receive and answer. From any thread.
        """

        def begin() -> None:
            self._at_hand[id] = time.monotonic()
            run()

        self.post(begin)

    def end_call(self, id: str) -> None:
        """It has its answer, or will not be at work for now. In the loop."""
        self._at_hand.pop(id, None)

    def beside(self, call: Callable[[], T], done: Callable[[Future[T]], None]) -> None:
        """Have a compute thread make this call, and the loop `done` with what came of it. For what leaves Python to
        others while it works: two calls that do not take as long as one after the other.
        """
        if self._compute is None:
            self._compute = ThreadPoolExecutor(_COMPUTE_THREADS, "ghcm-compute")
        future = self._compute.submit(call)
        future.add_done_callback(lambda made: self.post(partial(done, made)))

    def at(self, due: float, call: Callable[[], None]) -> Timer:
        """Have the loop make this call when the monotonic clock has reached `due` (seconds)."""
        timer = Timer(due, next(self._order), call)
        heapq.heappush(self._timers, timer)
        if len(self._timers) > self._many_timers:
            # Cancelled ones behind one that is not: a call that takes an hour would keep those of all that came after.
            self._timers = [each for each in self._timers if not each.cancelled]
            heapq.heapify(self._timers)
            self._many_timers = max(_FEW_TIMERS, 2 * len(self._timers))
        return timer

    def stop(self) -> None:
        """End `run` after the present step; from any thread."""
        self._stopping = True
        self._event.set()

    @property
    def step_s(self) -> float:
        """How long a step should last at most (seconds): short while there are calls to answer, longer when nobody
        waits.
        """
        return _SHORT_STEP_S if self.called else _LONG_STEP_S

    @property
    def called(self) -> bool:
        """Whether there are calls to answer, or have been a moment ago. From any thread."""
        return time.monotonic() - self._called < _CALM_S

    def run(self) -> None:
        """Loop until `stop`. What a posted call or a timer raises ends the loop and is raised here."""
        self._thread = get_ident()
        if self._tame:
            gc.collect()
            gc.freeze()
            gc.disable()
        try:
            while not self._stopping:
                while self._posted:
                    self._timed(self._posted.popleft())
                self._fire()
                if not self._turns():
                    self._sleep()
        finally:
            if self._compute is not None:
                self._compute.shutdown(wait=False, cancel_futures=True)
            with self._asking:
                self._ended = True
            for call in tuple(self._asked):
                call()
            self._thread = None
            if self._tame:
                gc.enable()
                gc.unfreeze()

    def _fire(self) -> None:
        while self._timers and (self._timers[0].cancelled or self._timers[0].due <= time.monotonic()):
            timer = heapq.heappop(self._timers)
            if not timer.cancelled:
                self._timed(timer.call)

    def _timed(self, call: Callable[[], None]) -> float:
        started = time.perf_counter()
        call()
        seconds = time.perf_counter() - started
        self.held.note(seconds)
        return seconds

    def _turns(self) -> bool:
        """A few turns of the urgent, one of the others; False if nobody was ready."""
        if not self._urgent and not self._ready:
            return False
        for _ in range(_URGENT_STEPS):  # as a rule a call from its beginning to its end: each turn wakes the next
            if not self._urgent:
                break
            self._turn(self._urgent.popleft())
        if self._ready:
            if self._gives_way():
                return bool(self._urgent)
            self._turn(self._ready.popleft())
        if self._tame and gc.get_count()[0] > self._many_objects:
            self._timed(partial(self._collect, _FULL_BUSY_S))
        return True

    def _gives_way(self) -> bool:
        """Whether data waits for a call at hand, which it does for a while, and once for many calls in a row."""
        now = time.monotonic()
        while self._at_hand and now >= next(iter(self._at_hand.values())) + _WAY_S:
            del self._at_hand[next(iter(self._at_hand))]
        if self._at_hand:
            self._held_up = self._held_up or now
            if now < self._held_up + _WAY_S:
                return True
        self._held_up = 0.0
        return False

    @property
    def busy_s(self) -> float:
        """How long it has worked in all."""
        return self.held.sum

    def _turn(self, tasklet: Tasklet) -> None:
        self._queued.discard(id(tasklet))
        self.turns += 1

        def step() -> None:
            try:
                progress = tasklet.step()
            except Exception as error:  # a bug or a failed connector ends the tasklet's unit, never the slot
                tasklet.fail(error)
            else:
                if progress is Progress.WORKED:
                    self.wake(tasklet)

        tasklet.stepped(self._timed(step))

    def _sleep(self) -> None:
        self._event.clear()
        if self._posted or self._stopping:
            return
        now = time.monotonic()
        due = gc.get_count()[0] > _SOME_OBJECTS or now - self._collected > _COLLECT_S
        if self._tame and due and not self._ready:
            self._timed(partial(self._collect, _FULL_IDLE_S))
        while self._timers and self._timers[0].cancelled:
            heapq.heappop(self._timers)
        self.waiting = True
        patience = max(0.0, self._timers[0].due - now) if self._timers else None
        if self._ready:  # it gives way
            patience = _WAY_S if patience is None else min(patience, _WAY_S)
        self._event.wait(patience)
        self.waiting = False

    def _collect(self, full_after: float) -> None:
        full = time.monotonic() - self._collected_all > full_after
        gc.collect(2 if full else 1)
        self._collected = time.monotonic()
        if full:
            self._collected_all = self._collected


class Pace:
    """How long a source rests after each batch: not at all while nobody calls; else a few times as long as the loop has
    worked since the batch before. Much of what a small batch costs is the same for a large one, so a loop that gets
    fewer and larger ones is mostly idle when a call comes.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._busy_s = 0.0

    def rest(self) -> float:
        """Seconds; to be asked after each batch. From any thread."""
        worked, self._busy_s = self._scheduler.busy_s - self._busy_s, self._scheduler.busy_s
        return min(_LONGEST_REST_S, _RESTS * worked) if self._scheduler.called else 0.0
