"""The real Redis of the tests: one server for the session of a worker, with a database for each folder that asks."""

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

import pytest
import redis
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.embedded import find_redis_server

_DATABASES = 32768


@dataclass(frozen=True, slots=True)
class RedisServer:
    """A running Redis that belongs to this test session."""

    url: str
    version: str
    folder: Path
    process: subprocess.Popen[bytes]

    def connect(self) -> redis.Redis:
        """A new client that gives bytes."""
        return redis.Redis.from_url(self.url)


@cache
def shared_server() -> RedisServer:
    """The server of this session, with an append-only file and on a socket of its own: no port to collide on."""
    folder = Path(tempfile.mkdtemp(prefix="ghcm-redis-"))  # pytest's own are too deep for a socket: 107 bytes
    socket, log = folder / "redis.sock", folder / "redis.log"
    options = {"port": "0", "unixsocket": str(socket), "dir": str(folder), "logfile": str(log)}
    options |= {"appendonly": "yes", "save": "", "databases": str(_DATABASES)}
    flags = [word for name, value in options.items() for word in (f"--{name}", value)]
    process = subprocess.Popen([find_redis_server(), *flags], stdout=subprocess.DEVNULL)
    return RedisServer(f"unix://{socket}", await_redis(f"unix://{socket}", log), folder, process)


def stop_shared_server() -> None:
    """End the server of this session, if one was asked for."""
    if shared_server.cache_info().currsize:
        server = shared_server()
        server.process.kill()  # asked to end while it writes its file anew, it would stay
        server.process.wait()
        shutil.rmtree(server.folder, ignore_errors=True)
        shared_server.cache_clear()


def connected(base: Path) -> Connections:
    """Connections of a folder, always to the same database, which no other folder has. Not for child processes: a
    server that they start would outlive them.
    """
    return Connections(base, f"{shared_server().url}?db={_database(base.resolve())}")


_numbers = count(1)


@cache
def _database(base: Path) -> int:
    number = next(_numbers)
    if number >= _DATABASES:  # what a folder of long ago has left
        number = number % (_DATABASES - 1) + 1
        with redis.Redis.from_url(f"{shared_server().url}?db={number}") as client:
            client.flushdb()
    return number


def await_redis(url: str, log: Path) -> str:
    """Return the version of the server at `url` once it answers, or fail with its log after 20 seconds."""
    refused = retry_if_exception_type(redis.ConnectionError)
    try:
        for attempt in Retrying(stop=stop_after_delay(20), wait=wait_fixed(0.02), retry=refused, reraise=True):
            with attempt, redis.Redis.from_url(url) as client:
                return str(client.info("server")["redis_version"])
    except redis.ConnectionError as error:
        said = log.read_text() if log.exists() else "nothing"
        pytest.fail(f"redis-server did not start ({error}); it logged: {said}", pytrace=False)
    raise AssertionError("tenacity neither returned nor raised")
