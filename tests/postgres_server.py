"""The real PostgreSQL of the tests: one cluster for the session of a worker, in a folder of its own on a socket of its
own, and a database for each that asks. Root cannot run a server, so that then another user does.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

import pytest

_PLACES = ("/usr/lib/postgresql", "/usr/local/bin", "/usr/local/pgsql/bin", "/usr/bin")
_OPTIONS = {
    "listen_addresses": "",
    "shared_buffers": "32MB",
    "max_connections": "50",
    "autovacuum_naptime": "5s",
    "log_min_messages": "fatal",
}


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running PostgreSQL that belongs to this test session; `user` runs it."""

    folder: Path
    programs: Path
    user: str

    @property
    def data(self) -> Path:
        """Where its data are."""
        return self.folder / "data"

    def url(self, database: str, user: str = "", password: str = "") -> str:
        """The URL of a database."""
        who = f"{user or self.user}{':' + password if password else ''}"
        return f"postgresql://{who}@/{database}?host={self.folder}"

    def run(self, program: str, *arguments: str) -> str:
        """What a program of PostgreSQL prints."""
        command = [str(self.programs / program), *arguments]
        if os.getuid() == 0:
            who = pwd.getpwnam(self.user)
            command = ["setpriv", f"--reuid={who.pw_uid}", f"--regid={who.pw_gid}", "--clear-groups", *command]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, check=False)
        if done.returncode:
            pytest.fail(f"{' '.join(command)}: {done.stderr or done.stdout}", pytrace=False)
        return done.stdout

    def ask(self, database: str, statement: str) -> list[str]:
        """The lines that `psql` prints, columns between bars."""
        asked = ("-h", str(self.folder), "-d", database, "-AtX", "-v", "ON_ERROR_STOP=1", "-c", statement)
        return self.run("psql", *asked).splitlines()

    def guard(self, user: str, password: str) -> None:
        """Have a user who needs a password."""
        rules = self.data / "pg_hba.conf"
        rules.write_text(f"local all {user} scram-sha-256\n{rules.read_text()}")
        self.ask("postgres", f"create role {user} login password '{password}'")
        self.run("pg_ctl", "-D", str(self.data), "-s", "reload")

    def start(self) -> None:
        """Start the server and wait until it answers."""
        flags = " ".join(f"-c {name}='{value}'" for name, value in _OPTIONS.items())
        options = f"-c unix_socket_directories={self.folder} {flags}"
        log = str(self.folder / "postgres.log")
        self.run("pg_ctl", "-D", str(self.data), "-o", options, "-l", log, "-w", "-s", "start")

    def stop(self, how: str = "immediate") -> None:
        """End it: "immediate" as a crash would, "fast" in order."""
        self.run("pg_ctl", "-D", str(self.data), "-m", how, "-w", "-s", "stop")


def find_programs() -> Path | None:
    """The folder of `initdb` and `postgres`, the newest where there are several; None where there is none."""
    found = [path for place in _PLACES for path in Path(place).glob("**/initdb") if (path.parent / "postgres").exists()]
    found = [path for path in found if (path.parent / "psql").exists() and (path.parent / "pg_ctl").exists()]
    return max(found, key=lambda path: [int(part) for part in path.parts if part.isdigit()]).parent if found else None


@cache
def shared_postgres() -> PostgresServer | None:
    """The server of this session; None where PostgreSQL is not installed."""
    programs = find_programs()
    if programs is None:
        return None
    user = pwd.getpwuid(os.getuid()).pw_name if os.getuid() else _servant()
    folder = Path(tempfile.mkdtemp(prefix="ghcm-postgres-"))  # pytest's own are too deep for a socket: 107 bytes
    if os.getuid() == 0:
        shutil.chown(folder, user)
        folder.chmod(0o755)
    server = PostgresServer(folder, programs, user)
    server.run("initdb", "-D", str(server.data), "-U", user, "-E", "UTF8", "--locale=C", "-A", "trust", "--no-sync")
    server.start()
    return server


def _servant() -> str:
    """Who runs the server for root."""
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    pytest.fail('root cannot run PostgreSQL, and there is no user "postgres" or "nobody"', pytrace=False)


def stop_shared_postgres() -> None:
    """End the server of this session, if one was asked for."""
    if shared_postgres.cache_info().currsize and (server := shared_postgres()) is not None:
        server.stop()
        shutil.rmtree(server.folder, ignore_errors=True)
    shared_postgres.cache_clear()


_numbers = count(1)


@contextmanager
def new_database(server: PostgresServer) -> Iterator[str]:
    """The name of a database that nobody else has, dropped in the end."""
    name = f"test_{next(_numbers)}"
    server.ask("postgres", f"create database {name}")
    try:
        yield name
    finally:
        server.ask("postgres", f"drop database if exists {name} with (force)")
