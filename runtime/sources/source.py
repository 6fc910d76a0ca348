"""What every source offers to its tasklet, and the bounded mailbox that leads from a thread beside the loop to it.

A source reads and decodes; when and how much is the tasklet's decision.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Condition, Thread
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from ghcm.runtime.data.batch import Batch
    from ghcm.runtime.formats.chunks import Letters


class Source(Protocol):
    """Records of one or several partitions. Everything but the thread that it may have beside the loop belongs to the
    loop.

    `replayable`: `open` with an earlier position gives the records behind it again.
    """

    replayable: bool

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """Begin behind this position (JSON; None: at the start). `wake` may be called from any thread when there is
        something to poll.
        """
        ...

    def partitions(self) -> frozenset[str]:
        """The names of the partitions that have not ended, those not begun included."""
        ...

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        """What is there, of one partition, about `rows` records at most; None if nothing is. Never blocks. GhcmError
        if the connector fails.
        """
        ...

    @property
    def ended(self) -> bool:
        """Whether everything has been polled."""
        ...

    @property
    def due(self) -> float | None:
        """When to poll again (monotonic clock) though nobody wakes; None if `wake` tells."""
        ...

    def position(self) -> object:
        """The position behind what has been polled."""
        ...

    def close(self) -> None:
        """Give back threads, files and connections."""
        ...


@runtime_checkable
class Divisible(Protocol):
    """What a source also offers of which several instances read, each some of its partitions."""

    def divide(self, number: int, of: int) -> None:
        """Be instance `number` of so many; called before `open`."""
        ...

    def together(self, positions: Sequence[object]) -> object:
        """The position of a source that read alone what several have read; each finds its own part in it."""
        ...


@runtime_checkable
class Measured(Protocol):
    """What a source also offers that knows how much it has to read."""

    def share(self) -> float | None:
        """How much of its input has been polled, from 0 to 1; None where that is not known."""
        ...


@runtime_checkable
class Paced(Protocol):
    """What a source also offers that makes larger batches where it reads less often."""

    def pace(self, rest: Callable[[], float]) -> None:
        """Leave so long (seconds) after each batch before more is read. Called before `open`; `rest` is asked in any
        thread.
        """
        ...


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Failure:
    """What the thread has ended with."""

    error: Exception


def _nobody() -> None: ...


class Mailbox(Generic[T]):
    """Holds at most `limit` things, which the thread of `feed` puts there."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._wake: Callable[[], None] = _nobody
        self._things: deque[T | _Failure] = deque()
        self._condition = Condition()
        self._closed = False

    def feed(self, name: str, read: Callable[[], None], wake: Callable[[], None]) -> Thread:
        """Start the thread that puts things here; and what it is. `wake` is called when one arrives where none was, so
        that whoever takes has to go on until there is none. Whatever the thread ends with comes as the last thing:
        nobody else would hear of it, and the loop would wait for ever.
        """
        self._wake = wake

        def run() -> None:
            try:
                read()
            except Exception as error:
                self._put(_Failure(error))
            except BaseException as error:  # a panic of Polars is no Exception
                self._put(_Failure(RuntimeError(f"{type(error).__name__}: {error}")))

        thread = Thread(target=run, name=name, daemon=True)
        thread.start()
        return thread

    def put(self, thing: T) -> bool:
        """Wait for room and leave a thing; False if the mailbox has been closed."""
        return self._put(thing)

    def _put(self, thing: T | _Failure) -> bool:
        with self._condition:
            while len(self._things) >= self._limit and not self._closed:
                self._condition.wait()
            if self._closed:
                return False
            self._things.append(thing)
            first = len(self._things) == 1
        if first:
            self._wake()
        return True

    def take(self) -> T | None:
        """The next thing, or None; never waits. Raises what the thread has ended with."""
        with self._condition:
            if not self._things:
                return None
            thing = self._things.popleft()
            self._condition.notify()
        if isinstance(thing, _Failure):
            raise thing.error
        return thing

    def close(self) -> None:
        """Let the thread go."""
        with self._condition:
            self._closed, self._wake = True, _nobody
            self._things.clear()
            self._condition.notify_all()
