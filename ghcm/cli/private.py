"""A daemon of a command's own, and what it tells meanwhile: its events, and ticks between them.

It is started beside the command, ended with it, in a state directory that nobody else uses.
"""

import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import assert_never

from ghcm.errors import GhcmError
from ghcm.places import make_private, place, private_opener
from ghcm.runtime.daemon.locks import claim, claim_free
from ghcm.runtime.daemon.protocol import Control, Document, decode, raised
from ghcm.runtime.daemon.resubmission import Again, EarlierJobs
from ghcm.runtime.daemon.state import StateDirectory, keep_letters
from ghcm.runtime.jobs.store import Job, JobState, open_store
from ghcm.runtime.parent_death import ending_with_parent
from ghcm.runtime.settings import REDIS, Settings
from ghcm.spg.graph import Sink

_STOP_SECONDS, _HURRY_SECONDS = 60.0, 5.0


@dataclass(slots=True)
class PrivateDaemon:
    """A daemon that is starting. `status` waits until it listens."""

    state: StateDirectory
    process: subprocess.Popen[bytes]
    _status: Document | None = None

    @property
    def control(self) -> Control:
        """Its control socket."""
        return Control(self.state.control)

    def status(self) -> Document:
        """Where it is reached. GhcmError with its reason if it did not start."""
        if self._status is None:
            assert self.process.stdout is not None
            line = self.process.stdout.readline()
            if not line:
                self.process.wait()
                raise _not_started(self.state)
            self._status = raised(decode(line))
        return self._status

    def stop(self) -> None:
        """End it and all its processes, in order; at once on Ctrl-C, by force only if it takes a minute."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self._await_end(_STOP_SECONDS)
        except KeyboardInterrupt:
            self.hurry()
            raise

    def hurry(self) -> None:
        """End it and all its processes at once: what runs is cut off."""
        for number in (signal.SIGTERM, signal.SIGINT):  # the second cuts off; two of one kind may arrive as one
            if self.process.poll() is None:
                self.process.send_signal(number)
        self._await_end(_HURRY_SECONDS)

    def _await_end(self, seconds: float) -> None:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()  # its processes are tied to it
            self.process.wait()


@dataclass(frozen=True, slots=True)
class RunStates:
    """The state directories of runs of one program, below `folder`: one for each that runs at the same time, which the
    next run takes over. `base` is the folder that the run starts in.
    """

    folder: Path
    name: str
    base: Path
    settings: Settings

    def claim(self, again: Again) -> tuple[StateDirectory, int]:
        """A state directory that no living daemon owns, with its lock: that of the run that is to be resumed, or an
        empty one; what earlier runs have left in it is removed, but for their dead letters. GhcmError if there is none
        to be resumed; or if one was cut off whose rows would be there twice, unless `again` says what to do.
        """
        make_private(self.folder.parent)
        match again:
            case Again.RESUME:
                return self._resumed()
            case Again.FRESH:
                for state in self._there():
                    if cleared := self._clear(state):
                        os.close(cleared[1])
            case Again.UNSAID:
                for state in self._there():
                    self._refuse_cut_off(state)
            case _:
                assert_never(again)
        names = chain([self.name], (f"{self.name}-{number}" for number in count(2)))
        return next(found for name in names if (found := self._clear(StateDirectory(self.folder / name))))

    def _there(self) -> list[StateDirectory]:
        paths = self.folder.glob(f"{self.name}*")
        return [StateDirectory(path) for path in paths if re.fullmatch(r"(-\d+)?", path.name.removeprefix(self.name))]

    def _clear(self, state: StateDirectory) -> tuple[StateDirectory, int] | None:
        """The directory without what is in it, and its lock; None while somebody has it."""
        lock = claim_free(state)
        if lock is None:
            return None
        keep_letters(state, self.folder.parent)
        for path in state.path.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path != state.lock:
                path.unlink()
        return state, lock

    def _refuse_cut_off(self, state: StateDirectory) -> None:
        if state.complete.exists() or not state.store.exists() or (lock := claim_free(state)) is None:
            return
        try:
            with closing(open_store(state.store)) as store:
                EarlierJobs(state, store, self.settings.snapshots_at(state.path)).refuse_cut_off(self.base, self._holds)
        except (GhcmError, OSError) as error:
            if isinstance(error, GhcmError) and error.code == "GHCM-606":
                raise
        finally:
            os.close(lock)

    def _holds(self, sink: Sink) -> bool:
        """Whether what an earlier run has written there may still be there."""
        match sink.connector.address:
            case "files", path:
                folder = place(self.base, path)
                return not isinstance(folder, Path) or folder.exists()
            case "redis", _:
                return not self.settings.embedded
            case "kafka", _:
                return bool(self.settings.kafka.bootstrap)
            case _:
                return True

    def _resumed(self) -> tuple[StateDirectory, int]:
        """That of the latest run in the same folder; a job that was cut off with its daemon waits to be resumed."""
        began = [(job.submitted, state.path) for state in self._there() for job in self._jobs(state)]
        latest = max(began, default=None)
        if latest is None:
            raise GhcmError(
                f'no earlier run of "{self.name}" could be resumed',
                code="GHCM-607",
                detail=f'None has left its state in "{self.folder}" that began in "{self.base.absolute()}".',
                hint="run it without --resume.",
            )
        state = StateDirectory(latest[1])
        lock = claim(state)
        state.complete.unlink(missing_ok=True)
        with closing(open_store(state.store)) as store:
            for job in store.jobs.find(over=False):
                store.jobs.move(job.id, JobState.STOPPED, "its run was cut off")
        return state, lock

    def _jobs(self, state: StateDirectory) -> list[Job]:
        if not state.store.exists():
            return []
        with closing(open_store(state.store)) as store:
            jobs, here = store.jobs.find(), str(self.base.absolute())
        return [job for job in jobs if (base := state.base(job.id)).exists() and base.read_text("utf-8") == here]


@contextmanager
def private_daemon(
    state: StateDirectory, redis: str, host: str, port: int, *, claimed: int | None = None
) -> Generator[PrivateDaemon]:
    """A daemon for the time of the block. Ends with this process even if that is killed. `claimed`: the lock on its
    state directory, which it takes over.
    """
    make_private(state.path)
    state.logs.mkdir(exist_ok=True)
    given = {"--state": str(state.path.absolute()), "--host": host, "--port": str(port)}
    held = () if claimed is None else (claimed,)
    arguments = [*chain.from_iterable(given.items()), "--spare", *(f"--claimed={lock}" for lock in held)]
    line = ending_with_parent([sys.executable, "-m", "ghcm.runtime.daemon", *arguments], on_death=signal.SIGTERM)
    with open(state.logs / "daemon.log", "ab", opener=private_opener) as log:
        # Ctrl-C is for us alone: we end the daemon when we have said what there is to say.
        process = subprocess.Popen(
            line,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            pass_fds=held,
            env={**os.environ, REDIS: redis},
        )
    for lock in held:
        os.close(lock)
    daemon = PrivateDaemon(state, process)
    try:
        yield daemon
    finally:
        daemon.stop()


def _not_started(state: StateDirectory) -> GhcmError:
    log = state.logs / "daemon.log"
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    said = [line for line in lines if "error[" in line] or lines[-1:]
    return GhcmError("the daemon did not start", code="GHCM-728", detail=" ".join(said), hint=f"its log is {log}.")


class Events:
    """Heard from the moment it is made. To be iterated once: events as they come, `{"event": "tick"}` every `seconds`,
    and `{"event": "gone"}` when the daemon has ended.
    """

    def __init__(self, control: Control, seconds: float) -> None:
        self._seconds = seconds
        self._heard: queue.Queue[Document] = queue.Queue()
        self._stream = control.stream("watch", name="events")
        self._heard.put(next(self._stream))
        threading.Thread(target=self._listen, name="events", daemon=True).start()

    def __iter__(self) -> Iterator[Document]:
        due = time.monotonic() + self._seconds
        while True:
            try:
                yield self._heard.get(timeout=max(0.0, due - time.monotonic()))
            except queue.Empty:
                yield {"event": "tick"}
                due = time.monotonic() + self._seconds

    def _listen(self) -> None:
        try:
            for event in self._stream:
                self._heard.put(event)
        except (GhcmError, OSError):
            pass  # however it ended, it has
        self._heard.put({"event": "gone"})
