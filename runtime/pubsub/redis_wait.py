"""Blocking reads of Redis that another thread can end at once: each has a connection of its own, which the server is
told to unblock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar, cast

import redis

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.redis_connection import BLOCK_SECONDS, LOST, Connection, commands, open_client, stubborn

T = TypeVar("T")

_RACE_SECONDS = 0.002
"""How long a read that was about to block is given to reach the server before it is unblocked again."""


class Waiter:
    """One blocking reader; used by one thread at a time. `woken` is set for good: a waiter serves one call."""

    def __init__(self, url: str) -> None:
        self.client = open_client(url, connected=self._connected)  # one connection: only one thread uses it
        self.woken = threading.Event()
        self.changed = threading.Condition()
        self.blocked = False
        self._id = 0  # the server's number of the connection

    def read(self, command: Callable[[redis.Redis, int], T], seconds: float | None) -> T | None:
        """What `command(client, milliseconds)` gives; None when woken before. It blocks for `seconds`, `BLOCK_SECONDS`
        at the longest.
        """
        limit = BLOCK_SECONDS if seconds is None else min(max(seconds, 0.0), BLOCK_SECONDS)
        with self.changed:
            if self.woken.is_set():
                return None
            self.blocked = True
        try:
            return command(self.client, max(1, int(limit * 1000)))
        finally:
            with self.changed:
                self.blocked = False
                self.changed.notify_all()

    def unblock(self, other: redis.Redis) -> None:
        """End the read from another thread after `woken` was set; returns when it has ended."""
        with self.changed:
            while self.blocked and self.woken.is_set():
                try:
                    commands(other).client_unblock(self._id)
                except LOST:
                    return  # the server is away: the read fails by itself and finds that it was woken
                self.changed.wait(_RACE_SECONDS)

    def _connected(self, connection: Connection) -> None:
        connection.on_connect()
        connection.send_command("CLIENT", "ID")
        id = cast("int", connection.read_response())
        with self.changed:
            self._id = id


class Waiters:
    """The readers of one cache that block now, and connections for the next ones."""

    def __init__(self, url: str, patience: float) -> None:
        self._url = url
        self._patience = patience
        self._lock = threading.Lock()
        self._active: set[Waiter] = set()
        self._idle: list[Waiter] = []
        self._closed = False

    @contextmanager
    def waiting(self) -> Generator[Waiter]:
        """A reader for one call; woken already if closed."""
        with self._lock:
            waiter = self._idle.pop() if self._idle else Waiter(self._url)
            if self._closed:
                waiter.woken.set()
            self._active.add(waiter)
        try:
            yield waiter
        finally:
            with self._lock:
                self._active.discard(waiter)
                if self._closed:
                    waiter.client.close()
                else:
                    waiter.woken.clear()
                    self._idle.append(waiter)

    def stubborn(self, waiter: Waiter, attempt: Callable[[], T]) -> T | None:
        """What `attempt` returns, repeated while the server is away; None when the waiter is woken meanwhile."""
        try:
            return stubborn(self._url, attempt, patience=self._patience, closed=waiter.woken)
        except GhcmError:
            if waiter.woken.is_set():
                return None
            raise

    def wake(self, *, close: bool = False) -> None:
        """End all reads that block now; with `close` also all that come."""
        with self._lock:
            self._closed = self._closed or close
            active = list(self._active)
            for waiter in active:  # while none of them can end and be given to another call
                waiter.woken.set()
            if close:
                for waiter in self._idle:
                    waiter.client.close()
                self._idle.clear()
        if active:
            with open_client(self._url) as other:
                for waiter in active:
                    waiter.unblock(other)
