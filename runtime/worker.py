"""A thread beside the loop for one place that blocks: jobs run in order, and what comes of them is told to the loop.

A cause that may pass (a lost connection, a busy server) is retried with growing pauses until it works or the worker
is closed; everything else is handed to the loop as the error it is.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Thread
from typing import TypeVar

import redis

from ghcm.errors import GhcmError

_log = logging.getLogger(__name__)

T = TypeVar("T")

_PASSING = (ConnectionError, TimeoutError, redis.ConnectionError, redis.TimeoutError)
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 5.0


def may_pass(error: BaseException) -> bool:
    """Whether the cause of the error may pass by itself."""
    if isinstance(error, GhcmError) and error.__cause__ is not None:
        return may_pass(error.__cause__)
    return isinstance(error, _PASSING)


def _told(result: T, done: Callable[[T], None], failed: Callable[[Exception], None]) -> None:
    """What follows from a result may fail too; that ends what waits for it, not the loop."""
    try:
        done(result)
    except Exception as error:
        failed(error)


class Worker:
    """One thread that runs jobs in the order of `submit`. `post` tells the loop.

    `troubled` says what is being retried, for status reports; None when all is well.
    """

    def __init__(self, name: str, post: Callable[[Callable[[], None]], None]) -> None:
        self.name = name
        self.troubled: str | None = None
        self._post = post
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._closing = Event()
        self._thread = Thread(target=self._run, name=f"ghcm-{name}", daemon=True)
        self._thread.start()

    def submit(
        self,
        job: Callable[[], T],
        done: Callable[[T], None],
        failed: Callable[[Exception], None],
        *,
        retry: bool = True,
    ) -> None:
        """Run the job, then `done(result)` or `failed(error)` in the loop."""

        def run() -> None:
            if self._closing.is_set():
                return
            try:
                result = self._retried(job) if retry else job()
            except BaseException as error:  # the loop decides what follows; a panic of Polars is no Exception
                reason = error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")
                self._post(lambda: failed(reason))
            else:
                self._post(lambda: _told(result, done, failed))

        self._jobs.put(run)

    def close(self, last: Callable[[], None] | None = None) -> None:
        """Drop the jobs that have not begun, then run `last` and end the thread; does not wait."""
        self._closing.set()
        if last is not None:
            self._jobs.put(last)
        self._jobs.put(None)

    def join(self, deadline: float) -> None:
        """Wait until the thread has ended, or for the deadline (monotonic clock); not in the loop."""
        self._thread.join(max(0.0, deadline - time.monotonic()))

    def _retried(self, job: Callable[[], T]) -> T:
        pause = _FIRST_PAUSE_S
        while True:
            try:
                result = job()
            except Exception as error:
                if not may_pass(error) or self._closing.is_set():
                    raise
                if self.troubled is None:
                    _log.warning("%s: %s; trying again", self.name, error)
                self.troubled = str(error)
                if self._closing.wait(pause * random.uniform(0.8, 1.2)):
                    raise
                pause = min(_LONGEST_PAUSE_S, pause * 2)
            else:
                if self.troubled is not None:
                    _log.info("%s: works again", self.name)
                self.troubled = None
                return result

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
