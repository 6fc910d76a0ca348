"""Decoding on threads beside the loop, whose results come in the order in which the work was given.

Polars and Arrow let go of the interpreter while they work, so that two threads decode on two cores.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Generic, TypeVar

_THREADS = 2

T = TypeVar("T")


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """The threads of all sources: who reads leaves what is to be decoded to them."""
    return ThreadPoolExecutor(threads, "ghcm-decode")


class InOrder(Generic[T]):
    """Work of one reader that these threads do, or one thread: work of many short steps, which each let go of the
    interpreter and then wait for it, is done no sooner by two, and takes the processor half as long again.
    """

    def __init__(self, threads: int = _THREADS) -> None:
        self._threads = threads
        self._ahead: deque[Future[T]] = deque()

    def add(self, work: Callable[[], T], threads: int | None = None) -> Iterator[T]:
        """Have this done, by so many threads if not by as many as else; the results that the reader has to wait for
        now, so that few are held at a time. Each raises what its work has raised.
        """
        self._ahead.append(_pool(threads or self._threads).submit(work))
        while len(self._ahead) > _THREADS:
            yield self._ahead.popleft().result()

    def rest(self) -> Iterator[T]:
        """All other results."""
        while self._ahead:
            yield self._ahead.popleft().result()
