"""The daemon: owns a state directory, puts its parts together, and lives until it is told to stop.

One asyncio loop that only decides; whatever blocks runs in the children or in threads of the keepers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from ghcm.runtime.daemon.call_keeper import CallKeeper
from ghcm.runtime.daemon.child import Child
from ghcm.runtime.daemon.claims import Claims, NoClaims, RedisClaims, owner_of
from ghcm.runtime.daemon.control import ControlServer
from ghcm.runtime.daemon.jobs import Jobs
from ghcm.runtime.daemon.listening import listen
from ghcm.runtime.daemon.options import Options
from ghcm.runtime.daemon.processes import Listeners, Processes
from ghcm.runtime.daemon.protocol import Document
from ghcm.runtime.daemon.requests import answers, status
from ghcm.runtime.daemon.state import Lock
from ghcm.runtime.jobs.store import Store, open_store
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.settings import EMBEDDED
from ghcm.spg.graph import Program

log = logging.getLogger("ghcm.daemon")


class Daemon:
    """Made only when the lock on the state directory is held."""

    def __init__(self, options: Options, store: Store, listener: socket.socket) -> None:
        self.options = options
        self.state = options.state
        self.store = store
        self.stopping = asyncio.Event()
        host, port = listener.getsockname()[:2]
        self.url = f"http://{host}:{port}"
        self._watchers: set[asyncio.Queue[Document]] = set()
        listeners = Listeners(self.tell, self._calls_may_be_lost, self._spark_is_broken)
        self.processes = Processes(options, listener, listeners)
        connections = Connections(Path.cwd(), self.processes.redis_url)
        self._calls = CallKeeper(store, connections, self._programs, self._present, options.call_timeout)
        embedded = options.redis == EMBEDDED
        self._claims: Claims = NoClaims() if embedded else RedisClaims(options.redis, owner_of(options.state.path))
        self.jobs = Jobs(options, store, self._calls, self.processes, self._claims, self.tell)
        self._control = ControlServer(self.state.control, lambda op, arguments: answers(self, op, arguments))

    @property
    def children(self) -> dict[str, Child]:
        """All processes by name; engines by their job."""
        engines = {id: keeper.child for id, keeper in self.jobs.keepers.items() if keeper.child is not None}
        return {**self.processes.children, **engines}

    async def run(self, ready: Callable[[Document], None]) -> None:
        """Start everything, go on with the jobs that were running, and stop everything in order when told to."""
        await self._control.open()
        ready(status(self))
        await self.processes.start()
        keeping = asyncio.create_task(self._calls.run(), name="calls")
        claiming: asyncio.Task[None] | None = None
        try:
            self.jobs.resume()
            claiming = asyncio.create_task(self._claims.keep(self._claimed, self.jobs.claim_is_lost), name="claims")
            await self.stopping.wait()
        finally:
            log.info("stopping")
            tasks = [task for task in (keeping, claiming) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.processes.stop(self.jobs.leave)
            await self._control.close()
            await self._claims.close()
            await asyncio.to_thread(self._calls.close)

    async def watch(self, name: str) -> AsyncIterator[Document]:
        """Everything that happens from now on; begins with the jobs as they are."""
        queue: asyncio.Queue[Document] = asyncio.Queue()
        self._watchers.add(queue)
        try:
            if name == "http":
                self.processes.http_watches.set()
            running = self.store.jobs.find(over=False)
            yield {"event": "jobs", "jobs": [self.jobs.document(job) for job in running]}
            while True:
                yield await queue.get()
        finally:
            self._watchers.discard(queue)

    def tell(self, event: Document) -> None:
        """Tell everyone who watches."""
        for queue in self._watchers:
            queue.put_nowait(event)

    # The parts know each other by these alone, so that none has to be made before all others.

    def _calls_may_be_lost(self) -> None:
        self._calls.send_again()

    def _spark_is_broken(self, why: str) -> None:
        self.jobs.spark_is_broken(why)

    def _claimed(self) -> list[str]:
        return [keeper.program.name for keeper in self.jobs.keepers.values() if not keeper.job.over]

    def _programs(self) -> list[Program]:
        return self.jobs.programs()

    def _present(self, name: str) -> Program | None:
        return self.jobs.present(name)


def run(options: Options, ready: Callable[[Document], None] = lambda _: None) -> None:
    """Own the state directory and be the daemon until SIGTERM or SIGINT. `ready` is told the status once the control
    socket is open. GhcmError if it cannot start.
    """
    lock = Lock(options.state)
    try:
        listener = listen(options.host, options.port)
        with listener, contextlib.closing(open_store(options.state.store)) as store:
            asyncio.run(_live(options, store, listener, ready))
    finally:
        lock.release()


async def _live(options: Options, store: Store, listener: socket.socket, ready: Callable[[Document], None]) -> None:
    daemon = Daemon(options, store, listener)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, daemon.stopping.set)
    log.info("daemon %d in %s, http at %s", os.getpid(), options.state.path, daemon.url)
    await daemon.run(ready)
