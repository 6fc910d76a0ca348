"""The SQLite file behind the store: connections, schema and its version."""

import os
import sqlite3
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from ghcm.errors import GhcmError

SCHEMA_VERSION = 7
BUSY_SECONDS = 30.0
LOG_BYTES = 16 << 20
"""How large the log may grow before it is begun anew. Seldom, because the first commit of a log waits for the disk: it
syncs the head. A commit is some 12 KB.
"""
_CHECKPOINT_SECONDS = 0.2
"""How long writers wait at most for the end of a checkpoint, which waits for readers."""
_PAUSE_SECONDS = 1.0
"""The time between two attempts to begin the log anew, where readers have stood in the way."""

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
  publisher TEXT NOT NULL DEFAULT '',
  feedback TEXT NOT NULL,
  executor TEXT,
  attempts INTEGER NOT NULL,
  deaths INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER,
  next_attempt INTEGER,
  accepted INTEGER NOT NULL,
  started INTEGER,
  ended INTEGER,
  deadline INTEGER
) STRICT;
CREATE INDEX calls_by_unit ON calls (program, unit, accepted);
CREATE INDEX calls_open ON calls (deadline) WHERE final = 0;
CREATE INDEX calls_ended ON calls (ended) WHERE final = 1;
CREATE INDEX calls_open_of ON calls (publisher) WHERE final = 0;
CREATE TABLE replies (
  ended INTEGER NOT NULL,
  call TEXT NOT NULL,
  rows TEXT NOT NULL,
  PRIMARY KEY (ended, call)
) STRICT, WITHOUT ROWID;
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
    4: """
ALTER TABLE calls ADD COLUMN max_attempts INTEGER;
ALTER TABLE calls ADD COLUMN next_attempt INTEGER;
""",
    5: """
ALTER TABLE calls ADD COLUMN publisher TEXT NOT NULL DEFAULT '';
CREATE INDEX calls_open_of ON calls (publisher) WHERE final = 0;
""",
    6: """
CREATE TABLE replies (
  ended INTEGER NOT NULL,
  call TEXT NOT NULL,
  rows TEXT NOT NULL,
  PRIMARY KEY (ended, call)
) STRICT, WITHOUT ROWID;
""",
}
"""What brings a file of each earlier schema to the next."""


class Busy(Exception):
    """Another connection writes at this moment."""


class Database:
    """One file, one connection per thread, WAL: readers never wait for writers, only writers for each other.

    `busy` is how many seconds a writer waits for others. A commit outlives the death of any process at once, and a loss
    of power once `sync` has returned.
    """

    def __init__(self, path: Path, busy: float = BUSY_SECONDS) -> None:
        self.path = path
        self._busy = busy
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._due = threading.Event()
        self._closed = threading.Event()
        self._syncing = threading.Lock()
        self._log: int | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with self._explained():
                with suppress(OSError):  # which the database explains
                    path.touch(mode=0o600)  # its log gets the same rights
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
            _begin(connection, self._busy, wait=wait)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # SQLite has undone it already where the disk is full
                    connection.execute("ROLLBACK")
                raise
            if self._log is not None and os.fstat(self._log).st_size > LOG_BYTES:
                self._due.set()

    def sync(self) -> None:
        """Bring to disk what was committed before, by whatever process."""
        with self._explained(), self._syncing:
            if self._log is None:
                raise sqlite3.OperationalError("it is closed")
            try:
                os.fdatasync(self._log)
            except OSError as error:
                raise sqlite3.OperationalError(f"{error.strerror} while its log is written to disk") from error

    def close(self) -> None:
        """Close the connections of all threads."""
        self._closed.set()
        self._due.set()
        with self._syncing:
            if self._log is not None:
                os.close(self._log)
                self._log = None
        with self._lock:
            for connection in self._open:
                connection.close()
            self._open.clear()
        self._local = threading.local()

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            # Closed by whoever closes the store, which may be another thread.
            connection = sqlite3.connect(self.path, timeout=self._busy, isolation_level=None, check_same_thread=False)
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
            self._local.connection = connection
            with self._lock:
                self._open.append(connection)
        return connection

    def _checkpoint(self) -> None:
        """Bring the log into the file beside those who write, and begin it anew where it has become large.

        The first step does nearly all of the work and lets everybody write. The second has writers wait: without it a
        log that is always written to never ends, and so is never begun anew.
        """
        with suppress(sqlite3.Error), closing(sqlite3.connect(self.path, timeout=_CHECKPOINT_SECONDS)) as connection:
            while self._due.wait() and not self._closed.is_set():
                self._due.clear()
                if not _begin_log(connection):
                    self._closed.wait(_PAUSE_SECONDS)

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
            if found != SCHEMA_VERSION:  # else nothing is written, so that a store on a full disk can be opened
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        # The log lives as long as this connection. SQLite locks other files only, which must not be opened here.
        self._log = os.open(f"{self.path}-wal", os.O_RDONLY | os.O_CREAT, 0o600)

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


def _begin_log(connection: sqlite3.Connection) -> bool:
    """Bring the log into the file and have the next commit begin it anew; False where that has to wait: for those who
    read, for another process that is at it, or for room on the disk.
    """
    try:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        return bool(connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0] == 0)
    except sqlite3.OperationalError:
        return False


def _begin(connection: sqlite3.Connection, busy: float, *, wait: bool) -> None:
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
        connection.execute(f"PRAGMA busy_timeout = {int(busy * 1000)}")
