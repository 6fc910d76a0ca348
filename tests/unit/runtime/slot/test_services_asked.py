"""Lookups in a real Redis, a database and an HTTP server, which also fail, hang and come back."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

import pytest

from ghcm.driver import build
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.contract import Asking, Context
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.dead_letter import table_of
from ghcm.runtime.operators import build as build_operator
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Source
from ghcm.spg.ops import Lookup
from ghcm.spg.reference import run
from tests.redis_server import connected
from tests.unit.runtime.operators.harness import Box, Refusal

PROGRAM = """program asked
record Visit {{ page: string, user: int? }}
record User {{ name: string, age: int? from "years" }}
sink out = files("out", format = json, mode = append)
stream u {{
  visits = files("visits.jsonl", format = json).as(Visit)
  found = visits.lookup({service}, key = v => v.user, record = User{options})
  found.map(f => {{ page: f.left.page, user: f.right }}).to(out)
}}
"""
VISITS = (("/", 1), ("/docs", 2), ("/", 3), ("/none", None), ("/", 1), ("/odd", 4))
USERS: Mapping[int, tuple[str, int | None]] = {1: ("Ada", 36), 2: ("Bob", None)}
ROWS = [("/", USERS[1]), ("/docs", USERS[2]), ("/", None), ("/none", None), ("/", USERS[1])]
"""What is found, but for the key 4, which has no record."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a unit has written, and the details and inputs of its dead letters, all for the reason `lookup`."""

    rows: list[Any]
    dead: list[tuple[str, object]]


def asked(
    base: Path, service: str, options: str = "", *, sql: Mapping[str, str] | None = None, visits: Any = VISITS
) -> Asked:
    """Run the program with this service; the reference agrees, told what the service has."""
    lines = (json.dumps({"page": page, "user": user}) for page, user in visits)
    (base / "visits.jsonl").write_text("\n".join(lines) + "\n")
    path = base / "asked.istream"
    path.write_text(PROGRAM.format(service=service, options=options))
    bundle = Bundle.open(build(path, base / "asked.ghcm"))
    connections = replace(connected(base), sql=sql or {})
    Engine(bundle, connections=connections, state=base / "state").run()
    letters = list(read(table_of(base / "state" / "dead" / "asked" / "u"), connections))
    assert {row[2] for row in letters} <= {"lookup"}
    connections.close()
    dead = [(str(row[3]), json.loads(str(row[4]))) for row in letters]
    return Asked(list(read(bundle.plan.sink("out"), connections)), dead)


@contextmanager
def serving(answer: Callable[[str], tuple[int, str] | None]) -> Iterator[str]:
    """An HTTP server on this machine; None is no answer until the server ends."""
    ending = Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            given = answer(self.path)
            if given is None:
                ending.wait()
                self.close_connection = True
                return
            status, text = given
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/users/{{key}}?full=1"
    finally:
        ending.set()
        server.shutdown()
        thread.join()
        server.server_close()


def user_at(path: str) -> tuple[int, str]:
    """The answer of a server that works."""
    key = int(path.removeprefix("/users/").removesuffix("?full=1"))
    if key == 4:
        return 403, "no"
    name, age = USERS.get(key, (None, None))
    return (404, "none") if name is None else (200, json.dumps({"name": name, "years": age, "more": 1}))


@pytest.mark.parametrize(("form", "why"), [("json", "no JSON"), ("hash", "WRONGTYPE")])
def test_redis_holds_texts_and_hashes(form: str, why: str, tmp_path: Path) -> None:
    with closing(connected(tmp_path).redis()) as client:
        for key, (name, age) in USERS.items():
            if form == "json":
                client.set(f"user:{key}", json.dumps({"name": name, "years": age, "more": 1}))
            else:
                client.hset(f"user:{key}", "name", name)
                if age is not None:
                    client.hset(f"user:{key}", "years", str(age))
        client.set("user:4", "no record")
        found = asked(tmp_path, f'redis("user:{{key}}", form = {form})')
    assert found.rows == ROWS
    ((detail, visit),) = found.dead
    assert why in detail and visit == {"page": "/odd", "user": 4}


def test_a_query_is_asked_for_its_row(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        database.execute("create table users (id integer, name text, years integer)")
        rows = [(key, *user) for key, user in USERS.items()] + [(4, "Eve", 1), (4, "Eva", 2)]
        database.executemany("insert into users values (?, ?, ?)", rows)
        database.commit()
    query = 'sql("shop", query = "select name, years from users where id = :key")'
    found = asked(tmp_path, query, sql={"shop": "sqlite:///shop.db"})
    assert found.rows == ROWS
    assert found.dead == [("the query gives several rows for the key", {"page": "/odd", "user": 4})]


def test_a_server_is_asked_over_http_once_for_a_key_that_is_kept(tmp_path: Path) -> None:
    seen, lock = Counter[str](), Lock()

    def answer(path: str) -> tuple[int, str]:
        with lock:
            seen[path] += 1
        return user_at(path)

    with serving(answer) as url:
        found = asked(tmp_path, f'http("{url}")', ", cache = 1h")
    assert found.rows == ROWS
    assert found.dead == [("the server answers 403 Forbidden", {"page": "/odd", "user": 4})]
    assert set(seen.values()) == {1}
    program = Bundle.open(tmp_path / "asked.ghcm").program
    (lookup,) = (task.id for task in program.unit("u").tasks if isinstance(task.op, Lookup))
    told = run(program, "u", base=tmp_path, tables={("u", lookup): list(USERS.items())})
    assert told.sinks["out"] == [*ROWS, ("/odd", None)]


def test_a_server_that_fails_and_hangs_is_asked_until_it_is_back(tmp_path: Path) -> None:
    tries, lock = Counter[str](), Lock()

    def answer(path: str) -> tuple[int, str] | None:
        with lock:
            tries[path] += 1
            count = tries[path]
        return (503, "busy") if count == 1 else None if count == 2 else user_at(path)

    with serving(answer) as url:
        found = asked(tmp_path, f'http("{url}")', ", timeout = 100ms, parallel = 4")
    assert found.rows == ROWS and len(found.dead) == 1
    assert len(tries) == 4 and min(tries.values()) >= 3


def test_answered_records_overtake_others_where_no_order_is_asked_for() -> None:
    passed = Event()

    def answer(path: str) -> tuple[int, str]:
        if path.startswith("/users/1"):
            passed.wait()
        return user_at(path)

    with serving(answer) as url, ExitStack() as ending:
        ending.callback(passed.set)
        text = PROGRAM.format(service=f'http("{url}")', options=", ordered = false")
        unit = lower(parse(Source("asked.istream", text))).unit("u")
        task = next(each for each in unit.tasks if isinstance(each.op, Lookup))
        operator, box = build_operator(task, unit, None, Context()), Box(Refusal.NEVER)
        given = [(user, (page, user)) for page, user in VISITS]
        parts = iter(operator.process(0, Batch.from_rows(unit.task(task.inputs[0].producer).schema, given), box))
        found: list[Any] = []
        while len(found) < 3:
            found += next(parts).rows()
        assert sorted(page for (page, _), _ in found) == ["/", "/docs", "/none"]
        passed.set()
        found += [row for part in parts for row in part.rows()]
        expected = [((page, user), USERS.get(user or 0)) for page, user in VISITS if user != 4]
        assert sorted(map(repr, found)) == sorted(map(repr, expected))
        assert isinstance(operator, Asking)
        operator.close()


def test_what_is_not_answered_after_all_retries_is_a_dead_letter(tmp_path: Path) -> None:
    def answer(path: str) -> tuple[int, str]:
        return (500, "broken") if path.startswith("/users/2") else user_at(path)

    with serving(answer) as url:
        found = asked(tmp_path, f'http("{url}")', ", retries = 1")
    assert found.rows == [row for row in ROWS if row[0] != "/docs"]
    assert [visit for _, visit in found.dead] == [{"page": "/docs", "user": 2}, {"page": "/odd", "user": 4}]
    assert "500" in found.dead[0][0]
