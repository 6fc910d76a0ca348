"""What every test may ask for: shared data, a private Redis, golden files."""

import gc
import os
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

from tests import kafka_server
from tests.java_classes import variables
from tests.object_store import ObjectStore, shared_store, stop_shared_store
from tests.postgres_server import PostgresServer, new_database, shared_postgres, stop_shared_postgres
from tests.redis_server import RedisServer, shared_server, stop_shared_server

ROOT = Path(__file__).resolve().parent.parent

# Tests start a thousand processes. Where the environment wants no bytecode kept, each would compile all modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
os.environ.update(variables() | os.environ)

# A dozen rows are shared out among threads for more than they cost; engines as processes have as many as ever.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

settings.register_profile(
    "untimed",
    settings.get_profile(settings.get_current_profile_name()),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("untimed")  # a machine that does much else fails no test


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="rewrite golden files with what the code gives now")


class _Doctests:
    """Modules without a doctest are not searched for any, which is half of what collecting costs each process."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        found = yield
        if not found or b">>>" in file_path.read_bytes():
            return found
        return [each for each in found if type(each) is pytest.Module]


_named: list[bool] = []


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Doctests())  # what a conftest has is asked about the files beside it alone
    _named.append(kafka_server.name_folder())


def pytest_unconfigure() -> None:
    if _named and _named.pop():
        kafka_server.end_services()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Files go to processes as tests/scheduling.py says, where they go whole."""
    if config.getoption("dist") != "loadfile":
        return None
    from tests.scheduling import SparkTogether

    return SparkTogether(config, log)


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


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What collecting leaves is no garbage before the end: ten thousand tests need not be looked through each time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


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


@pytest.fixture(scope="session", autouse=True)
def _end_redis() -> Iterator[None]:
    yield
    stop_shared_server()
    stop_shared_postgres()
    stop_shared_store()


@pytest.fixture(scope="session")
def redis_server() -> RedisServer:
    """The real Redis of this session."""
    return shared_server()


@pytest.fixture(scope="session")
def postgres_server() -> PostgresServer:
    """The real PostgreSQL of this session."""
    server = shared_postgres()
    if server is None:
        miss("PostgreSQL (Debian: apt-get install postgresql)")
    return server


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of a database that this test alone has."""
    with new_database(postgres_server) as name:
        yield postgres_server.url(name)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """The object store of this session, to which this process is connected."""
    found = shared_store()
    for name, value in found.environment().items():
        monkeypatch.setenv(name, value)
    return found


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
