"""Programs and commands that go wrong in a folder of their own, and what is said of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa

from ghcm.optimizer import optimise
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Origin
from tests.conformance.live_runs import Compiled, checked
from tests.delta_logs import commit
from tests.postgres_server import PostgresServer
from tests.redis_server import shared_server
from tests.system.running import ghcm, until

__all__ = ["GOLDEN", "READING", "ROWS", "WRITING", "Try"]

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "mistakes"

READING = """program visits
record Visit { page: string, seconds: int }
sink out = files("out", format = json, mode = append)
stream watch {
  visits = SOURCE.as(Visit)
  visits.to(out)
}
"""
WRITING = """program visits
record Visit { page: string, seconds: int }
sink out = SINK
stream watch {
  files("visits.csv", format = csv).as(Visit).to(out)
}
"""
ROWS = pa.table({"page": ["/", "/a"], "seconds": [1, 2]})


@dataclass
class Written(Compiled):
    """A program with its text."""

    text: str

    def line(self, origin: Origin) -> str:
        return self.text.splitlines()[origin.line - 1]


@dataclass
class Try:
    """What is tried in a folder, and goes wrong. `names`: what stands for texts that differ from run to run."""

    base: Path
    ask: Callable[[str], Any]
    names: dict[str, str] = field(default_factory=dict[str, str])

    def read(self, source: str, **servers: Any) -> str:
        """What is said when that is read."""
        return self.run(READING.replace("SOURCE", source), **servers)

    def write(self, sink: str, **servers: Any) -> str:
        """What is said when that is written to."""
        (self.base / "visits.csv").write_text("page,seconds\n/,12\n")
        return self.run(WRITING.replace("SINK", sink), **servers)

    def run(self, text: str, **servers: Any) -> str:
        """Why the unit has failed, or for what it waits."""
        with self._engine(text, servers) as engine:

            def trouble() -> object:
                status: Any = engine.status()
                return status["units"]["watch"]["trouble"]

            until(lambda: engine.ended or trouble(), "a mistake", 60)
            return self.named(f"{engine.error}" if engine.ended else f"waiting: {trouble()}")

    def run_until(self, rows: int, text: str, **servers: Any) -> None:
        """Run it until that many rows are in its sink."""
        sink, connections = checked(text).sink("out"), Connections(self.base)
        with self._engine(text, servers):
            until(lambda: len(list(read(sink, connections))) == rows, f"{rows} rows", 60)

    @contextmanager
    def _engine(self, text: str, servers: dict[str, Any]) -> Iterator[Engine]:
        connections = Connections(self.base, **{"patience": 0.5, **servers})
        compiled = Written(optimise(checked(text)).program, text)
        with Engine(compiled, connections=connections, state=self.base / "state", commit_s=0.01) as engine:
            yield engine
        connections.close()

    def command(self, *words: str, **environment: str) -> str:
        """What a command says."""
        done = ghcm(*words, cwd=self.base, **environment)
        return self.told(words, done.stdout, done.stderr, done.returncode)

    def told(self, words: tuple[str, ...], output: str, errors: str, code: int) -> str:
        errors = re.sub(r"(?m)^(profile|state|http): .*\n", "", errors)
        return self.named(f"$ ghcm {' '.join(words)}\n{output}{errors}exit code {code}")

    def named(self, said: str) -> str:
        for text, name in ({str(self.base): "<folder>"} | self.names).items():
            said = said.replace(text, name)
        return said

    def table(self, *more: dict[str, Any], rows: Any = ROWS, **options: Any) -> Path:
        """A Delta table, with more commits that somebody else has made."""
        path = self.base / "visits"
        deltalake.write_deltalake(str(path), rows, **options)
        for actions in more:
            commit(path, actions)
        return path

    @property
    def postgres(self) -> PostgresServer:
        server: PostgresServer = self.ask("postgres_server")
        self.names[str(server.folder)] = "<postgres>"
        self.names[f'"{server.user}"'] = '"<user>"'
        return server

    @property
    def database(self) -> str:
        """The URL of a database with nothing in it."""
        self.postgres  # noqa: B018    whose folder has a name then
        url = str(self.ask("postgres"))
        self.names[f"/{_database(url)}"] = "/lake"
        return url

    def ask_database(self, *statements: str) -> None:
        """Have it do that."""
        for statement in statements:
            self.postgres.ask(_database(self.database), statement)

    def redis(self, rights: str) -> str:
        """The URL of the session's Redis for a user with these rights and the password "right"."""
        server = shared_server()
        self.names[str(server.folder)] = "<redis>"
        with server.connect() as client:
            client.execute_command("ACL", "SETUSER", "guarded", "reset", "on", ">right", *rights.split())
        return server.url.replace("unix://", "unix://guarded:right@")


def _database(url: str) -> str:
    return url.partition("@/")[2].partition("?")[0]
