"""A child process that the daemon keeps alive: started, watched, started again as its restart policy says, ended.

It is asked each second whether it is there; one that says nothing for long hangs, and is killed. Children get a
parent-death signal, so none outlives the daemon. What they say on standard error goes to a log file of their own, which
is read here too; those that report do so in JSON lines on standard output, and are told things on standard input.
"""

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Self

from ghcm.errors import GhcmError
from ghcm.runtime.daemon.protocol import Document, decode, encode
from ghcm.runtime.daemon.spawning import Command, spawn
from ghcm.runtime.keeping import keep
from ghcm.runtime.retry import Restarts

log = logging.getLogger("ghcm.daemon")

_BEAT_SECONDS = 1.0
_NOTICED = 3
"""Questions without an answer after which a process counts as silent."""
_BIRTH_SECONDS = 120.0
"""How long a process that was started may need for its first answer, however busy the machine is."""


class Phase(Enum):
    """Where a child is in its life."""

    STARTING = "starting"
    RUNNING = "running"
    WAITING = "waiting"
    """It died and will be started again after a pause."""
    STOPPED = "stopped"
    FAILED = "failed"
    """It died too often."""


@dataclass(slots=True)
class RestartPolicy:
    """The deaths of one process. `limit` of them in a row are too many; None: never too many. A life of `window`
    seconds ends the row.
    """

    limit: int | None
    window: float = 60.0
    shortest: float = 0.05
    longest: float = 5.0
    deaths: int = 0
    waits: bool = False
    """Whether the next death is a wait for what is out of its hands, which does not count."""

    @classmethod
    def of(cls, settings: Restarts, *, endless: bool = False) -> Self:
        """As the settings say; `endless`: never too many."""
        limit = None if endless else settings.limit
        return cls(limit, settings.window, settings.shortest, settings.longest)

    def died(self, age: float) -> float | None:
        """Note a death after a life of `age` seconds: the pause before the next start, or None to give up.

        >>> restarts = RestartPolicy(limit=3)
        >>> [restarts.died(0.1), restarts.died(70.0), restarts.died(59.0), restarts.died(0.1)]
        [0.05, 0.05, 0.1, None]
        """
        if self.waits:
            self.waits = False
            return self.longest
        self.deaths = 1 if age > self.window else self.deaths + 1
        if self.limit is not None and self.deaths >= self.limit:
            return None
        return min(self.longest, self.shortest * 2.0 ** min(self.deaths - 1, 60))

    def progressed(self) -> None:
        """Forget the deaths: what was started has come further than the one before."""
        self.deaths = 0


@dataclass(eq=False, slots=True)
class Child:
    """One process and its successors.

    `started` is awaited after each start: the process is ready when it returns. `reported` is told each report;
    without it, standard output goes to the log. `died` is asked after each death that nobody wanted, with the exit
    code, whether to go on. With `hang` (seconds) the process is asked whether it is there, and killed when it has said
    nothing for so long: `ping` returns when it has answered; without one it is told {"op": "beat"} and reports
    {"event": "beat"}, with its "trouble" where it has one, and "serves": false where it waits for something.
    """

    command: Command
    policy: RestartPolicy
    _: KW_ONLY
    started: Callable[[], Awaitable[None]] | None = None
    reported: Callable[[Document], None] | None = None
    died: Callable[[int], bool] | None = None
    hang: float | None = None
    ping: Callable[[], Awaitable[None]] | None = None
    standby: Callable[[Command], asyncio.subprocess.Process | None] | None = None
    changed: Callable[[], None] = lambda: None
    phase: Phase = Phase.STARTING
    restarts: int = 0
    reason: str = ""
    """How the last process ended, and why none is started any more."""
    trouble: str = ""
    serves: bool = True
    """What the process says of itself that is not as it should be."""
    silence: int = 0
    """Questions in a row that it has not answered. They are counted, and no clock is read: who was asleep as long as
    the process, because the machine was, finds no silence.
    """
    _heard: bool = False
    _process: asyncio.subprocess.Process | None = None
    _last_pid: int = 0
    _born: float = field(default_factory=time.monotonic)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def progressed(self) -> None:
        """Note that the process has come further than the ones before it, so that it may die as often again."""
        self.policy.progressed()

    @property
    def age(self) -> float:
        """Seconds since the process was started."""
        return time.monotonic() - self._born

    @property
    def pid(self) -> int | None:
        """The process id, or None while none runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    @property
    def silent(self) -> bool:
        """Whether it does not answer."""
        return self.silence >= _NOTICED

    @property
    def _silent_s(self) -> float:
        return self.silence * _BEAT_SECONDS

    @property
    def health(self) -> tuple[str, str]:
        """How it is, in a word ("ok", "starting", "waiting", "silent", "failed", "stopped"), and why."""
        if self.silent and self._heard and self.phase in (Phase.STARTING, Phase.RUNNING):
            return "silent", f"it has said nothing for {self._silent_s:.0f} s"
        if self.phase is Phase.RUNNING:
            return "ok" if self.serves else "waiting", self.trouble or (self.reason and f"the one before {self.reason}")
        return self.phase.value, self.trouble or self.reason

    def start(self) -> None:
        """Begin to keep the process alive."""
        name = f"child {self.command.name}"
        self._task = asyncio.create_task(keep(name, self._keep), name=name)

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

    def kill(self) -> None:
        """End the process by force, and start none again."""
        self._stopping.set()
        if self._process is not None and self._process.returncode is None:
            _signal(self._process, signal.SIGKILL)

    async def _keep(self) -> None:
        while not self._stopping.is_set():
            code = await self._live()
            if self._stopping.is_set():
                break
            self.restarts += 1
            hung = self.hang is not None and self._silent_s > self.hang
            silent = f"said nothing for {self._silent_s:.0f} s and was killed"
            self.reason = silent if hung else f"ended: {ending(code)}"
            self.trouble = ""
            log.warning("%s (process %s) ended: %s", self.command.name, self._last_pid, ending(code))
            if self.died is not None and not self.died(code):
                break
            pause = self.policy.died(self.age)
            if pause is None:
                self.reason = f"it died {self.policy.deaths} times in a row, the last time {ending(code)}"
                self._move(Phase.FAILED)
                return
            self._move(Phase.WAITING)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
        self._move(Phase.STOPPED)

    async def _live(self) -> int:
        """One life: from the start to the exit code."""
        self._move(Phase.STARTING)
        self._born = time.monotonic()
        standby = None if self.standby is None else self.standby(self.command)
        process = self._process = standby or await spawn(self.command, reports=self.reported is not None)
        self._last_pid = process.pid
        ending_task = asyncio.create_task(process.wait())
        ready = asyncio.create_task(self._become_ready())
        reports = asyncio.create_task(self._read_reports(process))
        watch = asyncio.create_task(self._watch(process))
        try:
            if self._stopping.is_set():  # asked to stop while it was being spawned
                _signal(process, signal.SIGTERM)
            code = await ending_task
        finally:
            ready.cancel()
            watch.cancel()
            await asyncio.gather(ready, reports, watch, return_exceptions=True)
        return code

    async def _become_ready(self) -> None:
        if self.started is not None:
            await self.started()
        self._move(Phase.RUNNING)

    async def _read_reports(self, process: asyncio.subprocess.Process) -> None:
        """Hand on what the process reports, until it closes its output."""
        if process.stdout is None or self.reported is None:
            return
        while not process.stdout.at_eof():
            try:
                line = await process.stdout.readline()
            except ValueError:  # a function of a program has printed it; the lines behind it are heard
                log.error("%s printed a line that is longer than any report", self.command.name)
                continue
            if not line:
                return
            try:
                report = decode(line)
            except GhcmError as error:
                log.error("%s printed what is no report (%s): %r", self.command.name, error.message, line[:200])
                continue
            try:
                if report.get("event") == "beat":
                    self._answered(str(report.get("trouble", "")), serves=bool(report.get("serves", True)))
                else:
                    self.reported(report)
            except Exception:  # the next report is heard all the same
                log.exception("%s: a report has led to an error: %r", self.command.name, line[:200])

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """Ask the process each second whether it is there, and kill it when it has said nothing for too long."""
        self.silence, self.trouble, self.serves, self._heard = 0, "", True, False
        if self.hang is None:
            return
        async with asyncio.TaskGroup() as tasks:
            if self.ping is not None:
                tasks.create_task(self._keep_pinging(self.ping))
            while self._silent_s <= (self.hang if self._heard else max(self.hang, _BIRTH_SECONDS)):
                if self.ping is None:
                    self.tell({"op": "beat"})
                await asyncio.sleep(_BEAT_SECONDS)
                self.silence += 1
                if self.silence == _NOTICED and self._heard:
                    log.warning("%s (process %d) does not answer", self.command.name, process.pid)
                    self.changed()
            log.error("%s (process %d) hangs and is killed", self.command.name, process.pid)
            _signal(process, signal.SIGKILL)

    async def _keep_pinging(self, ping: Callable[[], Awaitable[None]]) -> None:
        while True:
            await ping()
            self._answered("", serves=True)
            await asyncio.sleep(_BEAT_SECONDS)

    def _answered(self, trouble: str, *, serves: bool) -> None:
        """The process is there, with this trouble or none, and serves or cannot yet."""
        news = (self.silent and self._heard) or bool(trouble) != bool(self.trouble)
        self.silence, self.trouble, self.serves, self._heard = 0, trouble, serves, True
        if news:
            self.changed()

    def _move(self, phase: Phase) -> None:
        if self.phase is not phase:
            self.phase = phase
            self.changed()


def ending(code: int) -> str:
    """What an exit code means.

    >>> ending(3), ending(-9)
    ('exit code 3', 'killed by SIGKILL')
    """
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    """Send a signal; one that kills goes to whatever the process has started too, which may hang itself."""
    with contextlib.suppress(ProcessLookupError):
        if number == signal.SIGKILL and process.returncode is None:
            os.killpg(process.pid, number)
        else:
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
