"""A child process that the daemon keeps alive: started, watched, started again as its restart policy says, ended.

Children get a parent-death signal, so none outlives the daemon. What they say on standard error goes to a log file of
their own, which is read here too; those that report do so in JSON lines on standard output, and are told things on
standard input.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from ghcm.errors import GhcmError
from ghcm.runtime.daemon.protocol import LONGEST_LINE, Document, decode, encode
from ghcm.runtime.daemon.restarts import RestartPolicy
from ghcm.runtime.parent_death import ending_with_parent

log = logging.getLogger("ghcm.daemon")

_LOG_BYTES = 10_000_000
_HEALTHY_SECONDS = 10.0


class Phase(Enum):
    """Where a child is in its life."""

    STARTING = "starting"
    RUNNING = "running"
    WAITING = "waiting"
    """It died and will be started again after a pause."""
    STOPPED = "stopped"
    FAILED = "failed"
    """It died too often."""


@dataclass(frozen=True, slots=True)
class Command:
    """What is run: the arguments, what the environment has besides ours, descriptors to inherit, the log."""

    name: str
    arguments: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    inherits: Sequence[int] = ()
    patience: float = 10.0
    """Seconds between asking it to stop (SIGTERM) and making it (SIGKILL)."""


class Child:
    """One process and its successors.

    `started` is awaited after each start: the process is ready when it returns. `reported` is told each report;
    without it, standard output goes to the log. `died` is asked after each death that nobody wanted, with the exit
    code, whether to go on.
    """

    def __init__(
        self,
        command: Command,
        restarts: RestartPolicy,
        *,
        started: Callable[[], Awaitable[None]] | None = None,
        reported: Callable[[Document], None] | None = None,
        died: Callable[[int], bool] | None = None,
        standby: Callable[[Command], asyncio.subprocess.Process | None] | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.command = command
        self.phase = Phase.STARTING
        self.restarts = 0
        self.reason = ""
        self.ready = asyncio.Event()
        self._restarts = restarts
        self._started = started
        self._reported = reported
        self._died = died
        self._standby = standby
        self._changed = changed
        self._process: asyncio.subprocess.Process | None = None
        self._last_pid = 0
        self._born = time.monotonic()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def progressed(self) -> None:
        """Note that the process has come further than the ones before it, so that it may die as often again."""
        self._restarts.progressed()

    @property
    def age(self) -> float:
        """Seconds since the process was started."""
        return time.monotonic() - self._born

    @property
    def pid(self) -> int | None:
        """The process id, or None while none runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    def start(self) -> None:
        """Begin to keep the process alive."""
        self._task = asyncio.create_task(self._keep(), name=f"child {self.command.name}")

    async def wait(self) -> None:
        """Return when the child has stopped or failed for good."""
        if self._task is not None:
            await asyncio.shield(self._task)

    def tell(self, document: Document) -> None:
        """Send a line to the process that runs; one that starts later has to find out by itself."""
        process = self._process
        if process is not None and process.returncode is None and process.stdin is not None:
            process.stdin.write(encode(document))

    async def stop(self) -> None:
        """End the process, by force after its patience, and start none again."""
        self._stopping.set()
        if self._task is None:
            self._move(Phase.STOPPED)
            return
        process = self._process
        if process is not None and process.returncode is None:
            _signal(process, signal.SIGTERM)
        try:
            await asyncio.wait_for(asyncio.shield(self._task), self.command.patience)
        except TimeoutError:
            log.warning("%s did not stop within %.0f s and is killed", self.command.name, self.command.patience)
            if self._process is not None:  # maybe one that was being spawned when it was asked to stop
                _signal(self._process, signal.SIGKILL)
        await asyncio.shield(self._task)

    async def _keep(self) -> None:
        while not self._stopping.is_set():
            code = await self._live()
            if self._stopping.is_set():
                break
            self.restarts += 1
            log.warning("%s (process %s) ended: %s", self.command.name, self._last_pid, ending(code))
            if self._died is not None and not self._died(code):
                break
            pause = self._restarts.died(time.monotonic())
            if pause is None:
                self.reason = f"it died {self._restarts.limit} times within a minute, the last time {ending(code)}"
                self._move(Phase.FAILED)
                return
            self._move(Phase.WAITING)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
        self._move(Phase.STOPPED)

    async def _live(self) -> int:
        """One life: from the start to the exit code."""
        self.ready.clear()
        self._move(Phase.STARTING)
        self._born = time.monotonic()
        process = self._process = await self._spawn()
        self._last_pid = process.pid
        ending_task = asyncio.create_task(process.wait())
        ready = asyncio.create_task(self._become_ready())
        reports = asyncio.create_task(self._read_reports(process))
        try:
            if self._stopping.is_set():  # asked to stop while it was being spawned
                _signal(process, signal.SIGTERM)
            code = await ending_task
        finally:
            ready.cancel()
            await asyncio.gather(ready, reports, return_exceptions=True)
        if self.age > _HEALTHY_SECONDS:
            self._restarts.progressed()
        return code

    async def _become_ready(self) -> None:
        if self._started is not None:
            await self._started()
        self.ready.set()
        self._move(Phase.RUNNING)

    async def _read_reports(self, process: asyncio.subprocess.Process) -> None:
        """Hand on what the process reports, until it closes its output."""
        if process.stdout is None or self._reported is None:
            return
        while line := await process.stdout.readline():
            try:
                self._reported(decode(line))
            except GhcmError as error:
                log.error("%s printed what is no report (%s): %r", self.command.name, error.message, line[:200])

    async def _spawn(self) -> asyncio.subprocess.Process:
        standby = None if self._standby is None else self._standby(self.command)
        return standby or await spawn(self.command, reports=self._reported is not None)

    def _move(self, phase: Phase) -> None:
        if self.phase is not phase:
            self.phase = phase
            self._changed()


async def spawn(command: Command, *, reports: bool) -> asyncio.subprocess.Process:
    """Start a process that ends with this one. `reports`: its standard output is for us, not for the log."""
    command.log.parent.mkdir(parents=True, exist_ok=True)
    if command.log.exists() and command.log.stat().st_size > _LOG_BYTES:
        command.log.replace(command.log.with_suffix(".log.1"))
    with command.log.open("ab") as output:
        return await asyncio.create_subprocess_exec(
            *ending_with_parent(command.arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE if reports else output,
            stderr=output,
            limit=LONGEST_LINE,
            env={**os.environ, **command.environment},
            pass_fds=tuple(command.inherits),
            start_new_session=True,  # Ctrl-C reaches the daemon alone, which stops its children in order
        )


def ending(code: int) -> str:
    """What an exit code means."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(number)


_BLOCK = 64 * 1024
_LOG_LOOK_SECONDS = 0.3


def tail(path: Path, lines: int) -> list[str]:
    """The last lines of a file; none if there is no such file."""
    try:
        with path.open("rb") as file:
            end = file.seek(0, 2)
            data = b""
            while end > 0 and data.count(b"\n") <= lines:
                start = max(0, end - _BLOCK)
                file.seek(start)
                data = file.read(end - start) + data
                end = start
    except FileNotFoundError:
        return []
    return data.decode("utf-8", "replace").splitlines()[-lines:] if lines else []


def last_words(path: Path) -> str:
    """The last line of a log as the end of a sentence; empty if it says nothing."""
    last = next((line for line in reversed(tail(path, 20)) if line.strip()), "")
    return f". Its log ends with: {last[:300]}" if last else ""


async def follow(path: Path) -> AsyncIterator[str]:
    """The lines that are added to a file from now on, without end. A file that was replaced is read from its start."""
    position = path.stat().st_size if path.exists() else 0
    rest = b""
    while True:
        size = path.stat().st_size if path.exists() else 0
        position = 0 if size < position else position
        if size > position:
            with path.open("rb") as file:
                file.seek(position)
                data = rest + file.read(size - position)
            position = size
            *whole, rest = data.split(b"\n")
            for line in whole:
                yield line.decode("utf-8", "replace")
        # Files do not tell when they grow; who looks at a log sees a third of a second as now.
        await asyncio.sleep(_LOG_LOOK_SECONDS)
