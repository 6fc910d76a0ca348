"""Takes the instructions of one responsive stream unit from its msg cache, and decides which of its calls begin.

In a thread beside the loop. So many calls are at work at most; one that is at work elsewhere, or whose next attempt is
yet to come, is looked at again until it is over, and others begin meanwhile. Which calls wait for each other is said by
`ordering`.
"""

import logging
import time
from collections import deque
from collections.abc import Callable
from threading import Event, Semaphore, Thread
from typing import assert_never

from ghcm.errors import GhcmError
from ghcm.runtime.calls.ordering import SerialQueue
from ghcm.runtime.jobs.calls import CallStore, Start
from ghcm.runtime.pubsub.cache import Delivery, MessageCache
from ghcm.runtime.pubsub.envelope import Instruction, storable
from ghcm.runtime.worker import may_pass

_log = logging.getLogger(__name__)

_RETRY_S = 0.5
_LOOK_S = 5.0
_ORDER_S = 0.1
"""How often to look whether a call of another unit is over whose turn was before."""
CALLS_AT_ONCE = 64


class Receiver:
    """The receiving side of the unit `name`. `begin` is called with what is to be executed, in this thread or in one
    that calls `over`; `queue` has the turns of its calls. `sent_on` says whether a call is none for this engine and has
    been sent to another one, once its turn has come; `at_once`: how many are at work at most.
    """

    def __init__(
        self,
        name: str,
        cache: MessageCache,
        calls: CallStore | None,
        executor: str,
        queue: SerialQueue[Delivery],
        begin: Callable[[Delivery], None],
        sent_on: Callable[[Instruction], bool] = lambda _: False,
        at_once: int = CALLS_AT_ONCE,
    ) -> None:
        self.queue = queue
        self._name = name
        self._cache = cache
        self._calls = calls
        self._executor = executor
        self._begin = begin
        self._sent_on = sent_on
        self._elsewhere: set[str] = set()
        """The calls that another engine has, which answers them."""
        self._room = Semaphore(at_once)
        self._busy = deque[Delivery]()  # several threads put into it, and one takes out
        self._repeated: set[str] = set()
        self._look_at_busy = 0.0
        self._stopping = Event()
        self._thread = Thread(target=self._receive, name=f"ghcm-{name}-receive", daemon=True)

    @property
    def takes(self) -> bool:
        """Whether calls come to it, or it wants none. From any thread."""
        return self.stopping or self._cache.takes(self._name)

    def start(self) -> None:
        """Begin to take instructions."""
        self._thread.start()

    @property
    def stopping(self) -> bool:
        """Whether it takes no more."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Take no more, at once. What is on its way to `begin` comes there before `join` is over."""
        self._stopping.set()
        self._room.release()  # one more than there are: the thread looks and leaves

    def join(self, deadline: float) -> None:
        """Wait until nothing more is taken in its thread, or for the deadline (monotonic clock); not in the loop."""
        while self._thread.is_alive() and (left := deadline - time.monotonic()) > 0:
            self._cache.wake()  # more than once: it may have been about to wait
            self._thread.join(min(left, _RETRY_S))

    def make_room(self) -> None:
        """A call is no more at work."""
        self._room.release()

    def repeat(self, id: str) -> None:
        """Have a call begin once more that has ended without its answer, when it is delivered again."""
        self._repeated.add(id)

    def later(self, delivery: Delivery) -> None:
        """Take a call once more that has ended without its answer, when the store says that its time has come; not in
        the loop.
        """
        self._busy.append(delivery)
        self._cache.wake()

    def over(self, id: str) -> None:
        """A call that had a turn is over: begin the next. Where there is no room, that is left to the receiving thread:
        room is made by whoever calls this.
        """
        self.queue.leave(id)
        self._advance(waits=False)

    def _receive(self) -> None:
        while not self._stopping.is_set():
            if not self._room.acquire(timeout=_LOOK_S):
                continue
            taken = False
            try:
                delivery = self._cache.receive(self._name, self._patience())
                taken = delivery is not None and (self._waits(delivery) or self._taken(delivery))
                self._advance()
                self._look_again()
            except Exception as error:  # the cache or the store is away: what was not acknowledged comes again
                if self._stopping.is_set():
                    return
                _log.log(
                    logging.WARNING if may_pass(error) or isinstance(error, GhcmError) else logging.ERROR,
                    'unit "%s" cannot take calls: %s',
                    self._name,
                    error,
                )
                self._stopping.wait(_RETRY_S)
            finally:
                if not taken:
                    self._room.release()

    def _patience(self) -> float:
        """How long to wait for the next instruction before other things are looked at."""
        return _ORDER_S if self.queue.held_up else _RETRY_S if self._busy else _LOOK_S

    def _waits(self, delivery: Delivery) -> bool:
        """Whether the call has to wait for its turn; then it needs no room any more."""
        if not self.queue.units:
            return False
        with delivery.attempted():
            self.queue.join(delivery.instruction, delivery)
        self._room.release()
        return True

    def _advance(self, *, waits: bool = True) -> None:
        """Begin the calls whose turn it is; `waits` for room, or does what room there is for."""
        while not self._stopping.is_set() and self.queue.held_up and self._room.acquire(blocking=waits):
            delivery, taken = None, False
            try:
                delivery = self.queue.step()
                taken = delivery is not None and self._taken(delivery)
            finally:
                if not taken:
                    self._room.release()
                    if delivery is not None:
                        self.queue.leave(delivery.instruction.id)
            if delivery is None:
                return

    def _look_again(self) -> None:
        """Look whether the calls that were at work elsewhere are over, and whether the time of others has come."""
        if not self._busy or time.monotonic() < self._look_at_busy:
            return
        self._look_at_busy = time.monotonic() + _RETRY_S
        for _ in range(len(self._busy)):
            self._room.acquire()
            taken = False
            try:
                taken = self._taken(self._busy.popleft())
            finally:
                if not taken:
                    self._room.release()

    def _taken(self, delivery: Delivery) -> bool:
        """Whether the call begins."""
        begins = False
        with delivery.attempted():
            begins = self._take(delivery)
        return begins

    def _take(self, delivery: Delivery) -> bool:
        if self._calls is not None:
            with storable(delivery.instruction):
                elsewhere = self._is_elsewhere(delivery.instruction, self._calls)
            if elsewhere:
                self._look_later(delivery)
                return False
            start, call = self._calls.started(delivery.instruction, self._executor)
            match start:
                case Start.BUSY if call.id in self._repeated:
                    self._repeated.discard(call.id)
                # Sent once more while it is at work, maybe where its unit has gone and come again; or tried again.
                case Start.BUSY | Start.LATER:
                    self._look_later(delivery)
                    return False
                case Start.ANSWERED:
                    delivery.acknowledge(call.feedback)
                    return False
                case Start.RUN:
                    pass
                case _:
                    assert_never(start)
        self._begin(delivery)
        return True

    def _look_later(self, delivery: Delivery) -> None:
        if not self._busy:
            self._look_at_busy = time.monotonic() + _RETRY_S
        self._busy.append(delivery)

    def _is_elsewhere(self, instruction: Instruction, calls: CallStore) -> bool:
        """Whether another engine has the call and has not answered it yet."""
        if instruction.id not in self._elsewhere:
            if calls.answered(instruction.id) or not self._sent_on(instruction):
                return False
            self._elsewhere.add(instruction.id)
            return True
        if not calls.answered(instruction.id):
            return True
        self._elsewhere.discard(instruction.id)
        return False
