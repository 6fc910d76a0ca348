"""A Supervisor and an engine in this process, with a program that reads a file, answers and writes: all but a daemon.

Requests go over a real socket, since most of what a stranger can do is done there.
"""

import json
import socket
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from ghcm import driver
from ghcm.runtime.access.scopes import parse_scopes
from ghcm.runtime.access.tokens import TokenFile
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.store import JobState, Store, open_store
from ghcm.runtime.settings import load_settings
from ghcm.runtime.slot.engine import Engine
from ghcm.supervisor.app import Supervisor
from ghcm.supervisor.server import server
from tests.redis_server import connected

PROGRAM = """\
program shop

record Sale { item: string, amount: int, at: timestamp }

sink kept = parquet("kept", mode = append)
sink found = redis("shop:found", key = p => p.key, mode = upsert)

stream watch {
  sales = files("sales.csv", format = csv).as(Sale)
  sales.to(kept)
  totals = sales.map_to_pair(s => (s.item, s.amount)).reduce_by_key((a, b) => a + b)
}

responsive stream total(item: string, least: int = 0) {
  watch.totals.read(item).filter(p => p.value >= least).reply()
}

responsive stream all_totals() {
  watch.totals.read().sort(by = p => p.key).reply()
}

responsive stream store(least: int) {
  watch.totals.read().filter(p => p.value >= least).to(found)
}
"""
SALES = """\
item,amount,at
tea,3,2026-01-01T00:00:00Z
=1+1,4,2026-01-01T00:00:01Z
tea,5,2026-01-01T00:00:02Z
"""
CALLS = "/programs/shop/units/total/calls"
JSON = {"Content-Type": "application/json"}
JOB = "shop-1"


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Served:
    """A Supervisor that is listening."""

    port: int
    store: Store
    engine: Engine
    supervisor: Supervisor

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Reply:
        """A request with these headers, and none else than HTTP needs."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, data, dict(headers or {}))
            return _reply(connection.getresponse())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, headers=_named(headers))

    def post(self, path: str, body: object = None, **headers: str) -> Reply:
        """A request as our callers make it."""
        return self.ask("POST", path, {} if body is None else body, JSON | _named(headers))

    @property
    def app(self) -> FastAPI:
        """The app of the programs that are there."""
        assert self.supervisor.app is not None
        return self.supervisor.app

    def token(self, scopes: str, *, seconds: int = 60) -> dict[str, str]:
        """The header of a new token with these scopes."""
        _, text = self.tokens.create("ann", parse_scopes(scopes), seconds)
        return {"Authorization": f"Bearer {text}"}

    @property
    def tokens(self) -> TokenFile:
        """The tokens that it knows."""
        return TokenFile(self.store.database.path.parent / "tokens.json")

    def audited(self) -> list[dict[str, Any]]:
        """The lines of the audit log."""
        text = (self.store.database.path.parent / "audit.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def calls(self) -> int:
        """How many calls there are."""
        return len(self.store.calls.find(limit=1_000_000))


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def _reply(answer: HTTPResponse) -> Reply:
    return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())


@contextmanager
def serving(folder: Path, program: str = PROGRAM, **settings: object) -> Generator[Served]:
    """A Supervisor of this program in this folder, whose sales are read when the block begins."""
    (folder / "shop.istream").write_text(program)
    (folder / "sales.csv").write_text(SALES)
    state, places = StateDirectory(folder / ".ghcm"), connected(folder)
    bundle = driver.build(folder / "shop.istream", folder / "shop.ghcm")
    state.base(JOB).parent.mkdir(parents=True)
    state.base(JOB).write_text(str(folder))
    with ExitStack() as stack:
        store = open_store(state.store)
        stack.callback(store.close)
        store.jobs.submit(JOB, "shop", str(bundle))
        store.jobs.move(JOB, JobState.RUNNING)
        engine = Engine(
            Bundle.open(bundle),
            connections=places,
            state=state.path,
            job=JOB,
            calls=store.calls,
            serve=True,
            commit_s=0.05,
        )
        stack.enter_context(engine)
        assert engine.wait(timeout=60)
        chosen = load_settings(settings, directory=folder, environment={})
        assert places.url is not None
        supervisor = Supervisor(state, places.url, chosen)
        stack.enter_context(_listening(supervisor, listener := _listener()))
        yield Served(listener.getsockname()[1], store, engine, supervisor)


def _listener() -> socket.socket:
    return socket.create_server(("127.0.0.1", 0))


@contextmanager
def _listening(supervisor: Supervisor, listener: socket.socket) -> Generator[None]:
    serves = server(supervisor, "127.0.0.1", listener.getsockname()[1], supervisor.settings.http)
    thread = threading.Thread(target=serves.run, args=([listener],), name="http")
    thread.start()
    try:
        while not serves.started:
            assert thread.is_alive(), "the server has ended"
            time.sleep(0.01)
        yield
    finally:
        serves.should_exit = True
        thread.join(60)
        assert not thread.is_alive()
