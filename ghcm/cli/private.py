"""A daemon of a command's own, and what it tells meanwhile: its events, and ticks between them.

It is started beside the command, ended with it, in a state directory that nobody else uses.
"""

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path

from ghcm.errors import GhcmError
from ghcm.places import make_private, private_opener
from ghcm.runtime.daemon.protocol import Control, Document, decode, raised
from ghcm.runtime.daemon.state import StateDirectory, keep_letters
from ghcm.runtime.parent_death import ending_with_parent
from ghcm.runtime.settings import REDIS

_STOP_SECONDS = 60.0


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
        """End it and all its processes, in order; by force only if that takes a minute."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()  # its processes are tied to it
            self.process.wait()


def free_state(folder: Path, name: str) -> StateDirectory:
    """An empty state directory below `folder` that no living daemon owns; what an earlier run has left is removed, but
    for its dead letters.
    """
    make_private(folder.parent)
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    states = (StateDirectory(folder / each) for each in names)
    state = next(each for each in states if not Control(each.control).listening())
    keep_letters(state, folder.parent)
    shutil.rmtree(state.path, ignore_errors=True)
    return state


@contextmanager
def private_daemon(state: StateDirectory, redis: str, host: str, port: int) -> Generator[PrivateDaemon]:
    """A daemon for the time of the block. Ends with this process even if that is killed."""
    make_private(state.path)
    state.logs.mkdir(exist_ok=True)
    given = {"--state": str(state.path.absolute()), "--host": host, "--port": str(port)}
    arguments = [*chain.from_iterable(given.items()), "--spare"]
    line = ending_with_parent([sys.executable, "-m", "ghcm.runtime.daemon", *arguments], on_death=signal.SIGTERM)
    with open(state.logs / "daemon.log", "ab", opener=private_opener) as log:
        # Ctrl-C is for us alone: we end the daemon when we have said what there is to say.
        process = subprocess.Popen(
            line,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            env={**os.environ, REDIS: redis},
        )
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
