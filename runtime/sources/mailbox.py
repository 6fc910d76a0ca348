"""A bounded mailbox from one reader thread to the loop: the thread waits for room, the loop never waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Condition
from typing import Generic, TypeVar

__all__ = ["Mailbox"]

T = TypeVar("T")


class Mailbox(Generic[T]):
    """Holds at most `limit` things. `wake` is called when one arrives where none was."""

    def __init__(self, limit: int, wake: Callable[[], None]) -> None:
        self._limit = limit
        self._wake = wake
        self._things: deque[T] = deque()
        self._condition = Condition()
        self._closed = False

    def put(self, thing: T) -> bool:
        """Wait for room and leave a thing; False if the mailbox has been closed."""
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
        """The next thing, or None; never waits."""
        with self._condition:
            if not self._things:
                return None
            thing = self._things.popleft()
            self._condition.notify()
            return thing

    def close(self) -> None:
        """Let the thread go."""
        with self._condition:
            self._closed = True
            self._things.clear()
            self._condition.notify_all()
