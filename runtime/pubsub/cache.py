"""Msg caches: how instructions reach the unit that is called and how feedback comes back.

Backends (`redis_cache`, `kafka_cache`) implement these protocols. Delivery is at least once: what was
received and not acknowledged is delivered again, to the same consumer after its restart, or to another one when the
first is gone. That a call has one answer is the call store's business, not the cache's. Everything here blocks and
belongs into a thread; `AsyncMessageCache` is the caller's side for an event loop.
"""

from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, Unacceptable

PATIENCE = 30.0
"""Seconds that an operation waits for a server that is away; a private server is back within one."""

START = "0"
"""The position before the first feedback of an address; the one before a moment is its milliseconds and `-0`."""

FEEDBACK_SECONDS = 60
"""How far back feedback is read by who has been away, and so how long a cache keeps it in memory, where each minute of
a hundred calls a second takes 1.4 MB; the call store keeps the final one for longer.
"""


@dataclass(frozen=True, slots=True)
class Topic:
    """Where the calls of a unit travel: a `log` is on Kafka where the run has one, anything else on Redis."""

    name: str
    log: bool = False


@dataclass(frozen=True, slots=True)
class Delivery:
    """An instruction taken from a cache. `attempt` is 1 the first time.

    Whoever has it ends it with one of three, from any thread: `acknowledge(answer)` after the final answer is stored,
    which also sends it to whoever called; `give_back()` when it could not be worked on, so that it is delivered
    again, maybe to the same consumer; `refuse(error)` when it never can be, which puts it aside with the reason.
    """

    instruction: Instruction
    attempt: int
    acknowledge: Callable[[Feedback], None] = field(repr=False, compare=False)
    give_back: Callable[[], None] = field(repr=False, compare=False)
    refuse: Callable[[GhcmError], None] = field(repr=False, compare=False)

    @contextmanager
    def attempted(self) -> Generator[None]:
        """Where what is done within fails it is given back, or, where that is `Unacceptable`, refused and done with."""
        try:
            yield
        except Unacceptable as error:
            self.refuse(error)
        except Exception:
            self.give_back()
            raise


@dataclass(frozen=True, slots=True)
class Positioned:
    """A feedback with its position in its address; reading goes on `after` a position."""

    position: str
    feedback: Feedback


class MessageCache(Protocol):
    """A msg cache as executors and publishing units see it. All methods may be called from several threads."""

    def send(self, instruction: Instruction) -> None:
        """Return once the cache has stored the instruction; GhcmError if it cannot be reached within the patience of
        the connection.

        Sending the same id twice is harmless: it may be delivered twice and is answered once.
        """
        ...

    def receive(self, unit: str, timeout: float | None = None) -> Delivery | None:
        """The next instruction for this unit, oldest first, what was left unacknowledged before what is new.

        None after `timeout` seconds (None: no limit) and when woken or closed. An instruction that is still being
        worked on by this process is not given out a second time.
        """
        ...

    def takes(self, unit: str) -> bool:
        """Whether instructions for this unit would come now, as far as this worker knows by itself."""
        ...

    def send_feedback(self, address: str, feedback: Feedback) -> None:
        """Return once the feedback is stored at the address."""
        ...

    def feedback(self, address: str, after: str = START, timeout: float | None = None) -> Sequence[Positioned]:
        """Feedback at the address behind this position: some, or none after `timeout` seconds or when closed."""
        ...

    def wake(self) -> None:
        """Make every `receive` that waits return None, once."""
        ...

    def close(self) -> None:
        """Wake everything that waits, for good. What is not acknowledged will be delivered again."""
        ...


class AsyncMessageCache(Protocol):
    """The caller's side of a msg cache for an event loop."""

    async def send(self, instruction: Instruction) -> None:
        """As `MessageCache.send`."""
        ...

    def feedback(self, address: str, after: str = START) -> AsyncIterator[Positioned]:
        """All feedback at the address behind this position, without end; ends when the cache is closed. Survives
        restarts of the server.
        """
        ...

    async def close(self) -> None:
        """End all iterators."""
        ...


def cache_topic(program: str, unit: str) -> str:
    """The topic of the cache of a unit whose program names none.

    >>> cache_topic("traffic", "rebuild")
    'ghcm:cache:traffic:rebuild'
    """
    return f"ghcm:cache:{program}:{unit}"
