"""A thread beside the loop for one connector that blocks: jobs run in order, their outcome is told to the loop.

A cause that may pass (a lost connection, a busy server) is retried with growing pauses until it works or the worker
is closed; everything else is handed to the loop as the error it is.
"""

import logging
import sys
import time
from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Thread
from typing import TypeVar

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    sleep_using_event,
    stop_when_event_set,
    wait_exponential,
    wait_random,
)

from ghcm.errors import GhcmError

_log = logging.getLogger(__name__)

T = TypeVar("T")

_PASSING = (ConnectionError, TimeoutError)
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 5.0


def may_pass(error: BaseException) -> bool:
    """Whether the cause of the error may pass by itself."""
    if isinstance(error, GhcmError) and error.__cause__ is not None:
        return may_pass(error.__cause__)
    if "redis" in sys.modules:  # else it is no error of its client, which is large
        import redis

        from ghcm.runtime.pubsub.redis_connection import passes

        if isinstance(error, redis.RedisError):
            return passes(error)
    return isinstance(error, _PASSING) or getattr(error, "retriable", False)  # as errors of kafka-python say


class Worker:
    """One thread that runs jobs in the order of `submit`. `post` tells the loop."""

    def __init__(self, name: str, post: Callable[[Callable[[], None]], None]) -> None:
        self.name = name
        self._trouble: BaseException | None = None
        self._post = post
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._closing = Event()
        self._retrying = Retrying(
            retry=retry_if_exception(may_pass),
            wait=wait_exponential(_FIRST_PAUSE_S, _LONGEST_PAUSE_S) + wait_random(0, _FIRST_PAUSE_S),
            stop=stop_when_event_set(self._closing),
            sleep=sleep_using_event(self._closing),
            before_sleep=self._failed_once,
            reraise=True,
        )
        self._thread = Thread(target=self._run, name=f"ghcm-{name}", daemon=True)
        self._thread.start()

    @property
    def troubled(self) -> str | None:
        """What is being retried, for status reports; None when all is well."""
        trouble = self._trouble
        return None if trouble is None else str(trouble)

    def submit(self, job: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]) -> None:
        """Run the job, then `done(result)` or `failed(error)` in the loop; the latter also where `done` fails, which
        ends what waits for the result, not the loop.
        """

        def told(result: T) -> None:
            try:
                done(result)
            except Exception as error:
                failed(error)

        def run() -> None:
            if self._closing.is_set():
                return
            try:
                result = self._retried(job)
            except BaseException as error:  # the loop decides what follows; a panic of Polars is no Exception
                reason = error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")
                self._post(lambda: failed(reason))
            else:
                self._post(lambda: told(result))

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
        def attempt() -> T:
            if self._trouble is not None and self._closing.is_set():
                raise self._trouble
            return job()

        result = self._retrying(attempt)
        if self._trouble is not None:
            _log.info("%s: works again", self.name)
            self._trouble = None
        return result

    def _failed_once(self, attempt: RetryCallState) -> None:
        error = attempt.outcome.exception() if attempt.outcome is not None else None
        if self._trouble is None:
            _log.warning("%s: %s; trying again", self.name, error)
        self._trouble = error

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # what it holds may be large, and the next may be long in coming
        self._retrying.before_sleep = None  # which knows this worker: calls have workers, and leave nothing to collect
