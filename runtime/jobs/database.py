"""The SQLite file behind the store: connections, schema and its version."""

import sqlite3
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from ghcm.errors import GhcmError

SCHEMA_VERSION = 4
BUSY_SECONDS = 30.0
_COMMITS_PER_CHECKPOINT = 2000
"""Seldom, because the first commit behind a checkpoint waits for the disk: it begins the log anew and syncs its head.
The log holds some 20 KB per commit.
"""

SCHEMA = """
CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  program TEXT NOT NULL,
  bundle TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  error TEXT,
  restarts INTEGER NOT NULL,
  version INTEGER NOT NULL DEFAULT 1,
  since TEXT NOT NULL DEFAULT '{}',
  submitted INTEGER NOT NULL,
  started INTEGER,
  ended INTEGER
) STRICT;
CREATE INDEX jobs_by_program ON jobs (program, submitted);
CREATE TABLE calls (
  id TEXT PRIMARY KEY,
  program TEXT NOT NULL,
  unit TEXT NOT NULL,
  state TEXT NOT NULL,
  final INTEGER NOT NULL,
  instruction TEXT NOT NULL,
  feedback TEXT NOT NULL,
  executor TEXT,
  attempts INTEGER NOT NULL,
  deaths INTEGER NOT NULL DEFAULT 0,
  accepted INTEGER NOT NULL,
  started INTEGER,
  ended INTEGER,
  deadline INTEGER
) STRICT;
CREATE INDEX calls_by_unit ON calls (program, unit, accepted);
CREATE INDEX calls_open ON calls (deadline) WHERE final = 0;
CREATE INDEX calls_ended ON calls (ended) WHERE final = 1;
"""

STEPS = {
    1: """
ALTER TABLE jobs ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE jobs ADD COLUMN since TEXT NOT NULL DEFAULT '{}';
""",
    2: """
ALTER TABLE jobs ADD COLUMN error TEXT;
""",
    3: """
ALTER TABLE calls ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;
""",
}
"""What brings a file of each earlier schema to the next."""


class Busy(Exception):
    """Another connection writes at this moment."""


class Database:
    """One file, one connection per thread, WAL: readers never wait for writers, only writers for each other."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._commits = 0
        self._due = threading.Event()
        self._closed = False
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._explained():
                self._prepare()
        except GhcmError:
            self.close()
            raise
        threading.Thread(target=self._checkpoint, name=f"checkpoint {path.name}", daemon=True).start()

    def rows(self, statement: str, *arguments: object) -> list[sqlite3.Row]:
        """The rows of a query."""
        with self._explained():
            return self._connection().execute(statement, arguments).fetchall()

    def change(self, statement: str, *arguments: object) -> int:
        """Carry out one statement that changes rows; how many it has changed."""
        with self.transaction() as connection:
            return connection.execute(statement, arguments).rowcount

    @contextmanager
    def transaction(self, *, wait: bool = True) -> Generator[sqlite3.Connection]:
        """A transaction that holds the write lock from its first statement on, so that what it reads stays true until
        it commits. `Busy` if another has the lock and this one is not to wait for it.
        """
        with self._explained():
            connection = self._connection()
            _begin(connection, wait=wait)
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
            self._commits += 1
            if self._commits % _COMMITS_PER_CHECKPOINT == 0:
                self._due.set()

    def close(self) -> None:
        """Close the connections of all threads."""
        self._closed = True
        self._due.set()
        with self._lock:
            for connection in self._open:
                connection.close()
            self._open.clear()
        self._local = threading.local()

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            # Closed by whoever closes the store, which may be another thread.
            connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            self._local.connection = connection
            with self._lock:
                self._open.append(connection)
        return connection

    def _checkpoint(self) -> None:
        """Bring the log into the file beside those who write, so that none of them waits for the disk."""
        with suppress(sqlite3.Error), closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as connection:
            while self._due.wait() and not self._closed:
                self._due.clear()
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _prepare(self) -> None:
        connection = self._connection()
        connection.execute("PRAGMA journal_mode = WAL")
        with self.transaction():
            found = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if found == 0:
                self._run(SCHEMA)
            elif found > SCHEMA_VERSION:
                raise GhcmError(
                    f'the store "{self.path}" has schema {found}, this GHCM knows {SCHEMA_VERSION}',
                    code="GHCM-741",
                    hint="use the GHCM that wrote it, or another state directory (--state)",
                )
            else:
                for step in range(found, SCHEMA_VERSION):
                    self._run(STEPS[step])
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _run(self, statements: str) -> None:
        for statement in statements.split(";"):
            self._connection().execute(statement)

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise GhcmError(
                f'the store "{self.path}" cannot be used: {error}',
                code="GHCM-740",
                hint="check that the directory can be written, the disk has room and no other program holds the file",
            ) from error
        except sqlite3.DatabaseError as error:
            raise GhcmError(
                f'the store "{self.path}" is damaged: {error}',
                code="GHCM-741",
                detail="Jobs and calls of the past cannot be read from it; programs and sinks are not touched.",
                hint=f'stop GHCM, move "{self.path.name}" and its "-wal" and "-shm" files away and start again',
            ) from error


def _begin(connection: sqlite3.Connection, *, wait: bool) -> None:
    if wait:
        connection.execute("BEGIN IMMEDIATE")
        return
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise Busy from error
        raise
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
