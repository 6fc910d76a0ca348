"""Databases that speak SQL, by the names of their connections: opened through SQLAlchemy, and what they refuse in our
words. A URL may leave passwords to variables of the environment, and is shown without any.
"""

import os
import re
import threading
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ghcm.errors import GhcmError, sentence, suggest

READS = "ghcm_reads"
"""The option of a connection that only reads."""

_DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
_SECONDS = 10
"""How long a connection may take to be made, and a file of SQLite may be held by others."""
_WATCHED = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 30_000}
"""Notices a server that has gone in silence."""
_VARIABLE = re.compile(r"[$][{](\w+)[}]")

_AWAY = re.compile(r"08|57P|40001|40P01|55P03|53300|SQLITE_BUSY|SQLITE_LOCKED")
_AWAY_TEXT = re.compile(
    r"refused|could not connect|No such file or directory|timed? ?out|timeout|is starting up|shutting down"
    r"|recovery|accepting connections|closed the conn|connection is lost|terminating connection|name resolution"
    r"|too many clients",
    re.IGNORECASE,
)
_REFUSED_TEXT = re.compile(
    r"authentication failed|no password supplied|no pg_hba|role .* does not exist", re.IGNORECASE
)

_HINTS = {
    "22021": "a text of PostgreSQL holds no character 0: replace(...) can remove it.",
    "23502": "a column of the table holds no nulls, and a record has one there.",
    "28": "see its user and password; a URL may say ${NAME} for a variable of the environment.",
    "3D": "see the name of the database in the URL.",
    "3F": "create the schema, or name another one.",
    "42501": "give its user the rights: sources are read; sinks are read, written and made, with tables beside them.",
    "42P01": "see the name of the table and its schema, which may stand before it: schema.table.",
    "42703": "see the names of the columns.",
    "42": "see the query, and what the user of the connection may do.",
    "23": "a record breaks a rule of the table: drop the rule, or filter(...) such records.",
    "22": "a record does not fit a column of the table: see the types of both.",
    "SQLITE_CONSTRAINT": "a record breaks a rule of the table: drop the rule, or filter(...) such records.",
}
"""What to do, by SQLSTATE or its beginning."""


class Away(ConnectionError):
    """A database cannot be asked at the moment."""


def sqlalchemy() -> Any:
    """The library that knows databases. GhcmError where it is not installed."""
    try:
        import sqlalchemy as library

        for dialect in ("postgresql", "sqlite"):
            import_module(f"sqlalchemy.dialects.{dialect}")
    except ImportError as error:
        raise _missing("SQLAlchemy") from error
    return library


class Database:
    """A database by the name and the URL of its connection; files of SQLite are looked for from `base` on. Threads may
    share it.
    """

    def __init__(self, name: str, url: str, base: Path) -> None:
        self.name = name
        self._library = sqlalchemy()
        self._url = self._parsed(url, base)
        self.kind: str = self._url.get_backend_name()
        self._engine: Any = None
        self._lock = threading.Lock()

    @property
    def engine(self) -> Any:
        """The engine of SQLAlchemy. GhcmError where its driver is not installed."""
        with self._lock:
            if self._engine is None:
                self._engine = self._opened()
            return self._engine

    @contextmanager
    def reading(self, doing: str) -> Generator[Any]:
        """A connection that reads everything as of one moment, a part at a time. GhcmError says what failed in `doing`
        that.
        """
        level = {"isolation_level": "REPEATABLE READ"} if self.kind == "postgresql" else {}
        with self.explained(doing), self.engine.connect() as plain:
            yield plain.execution_options(stream_results=True, yield_per=4096, **{READS: True}, **level)

    @contextmanager
    def writing(self, doing: str) -> Generator[Any]:
        """A connection whose changes are seen together or not at all. GhcmError as of `reading`."""
        with self.explained(doing), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def arrow(self, doing: str) -> Generator[Any]:
        """A cursor of Arrow's own driver, which gives whole columns; None where there is none for this database.
        GhcmError as of `reading`.
        """
        query = self._url.query
        driver = _arrow_driver() if self._url.drivername == _DRIVERS["postgresql"] else None
        if driver is None or not all(isinstance(value, str) for value in query.values()):
            yield None
            return
        url = self._url.set(drivername="postgresql", query={**query, **_arguments(query)})
        where, _, options = url.render_as_string(hide_password=False).partition("?")
        with (
            self.explained(doing),
            driver.connect(f"{where}?{options.replace('+', '%20')}") as connection,  # libpq takes a plus for a plus
            connection.cursor() as cursor,
        ):
            yield cursor

    def share(self) -> None:
        """Let a file of SQLite be read while it is written."""
        with self.explained(f'open "{self.name}"'), closing(self.engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA journal_mode = WAL")

    def close(self) -> None:
        """Give back the connections."""
        with self._lock:
            if self._engine is not None:
                self._engine.dispose()
                self._engine = None

    @contextmanager
    def explained(self, doing: str) -> Generator[None]:
        """Turn what the database refuses into a GhcmError; its cause is `Away` where it may pass by itself."""
        try:
            yield
        except self._library.exc.SQLAlchemyError as error:
            raise self._said(doing, error) from (Away(self._text(error)) if self._is_away(error) else error)
        except Exception as error:  # of the driver itself while rows are copied, or of the folder of a file
            if not (hasattr(error, "sqlstate") or isinstance(error, OSError)):
                raise
            raise self._said(doing, error) from (Away(self._text(error)) if self._is_away(error) else error)

    @property
    def shown(self) -> str:
        """The URL without user, password and options."""
        url = self._url
        return str(self._library.URL.create(self.kind, host=url.host, port=url.port, database=url.database))

    def _parsed(self, url: str, base: Path) -> Any:
        try:
            parsed = self._library.make_url(_VARIABLE.sub(self._variable, url))
        except (self._library.exc.ArgumentError, ValueError):
            raise self._no_url("its URL cannot be read") from None
        parsed = parsed.set(drivername=_DRIVERS.get(parsed.drivername, parsed.drivername))
        if parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:"):
            return parsed.set(database=str(base / parsed.database))
        if parsed.get_backend_name() == "sqlite":
            raise self._no_url("it names no file, and what is in memory is gone with the process")
        return parsed

    def _variable(self, found: re.Match[str]) -> str:
        value = os.environ.get(found[1])
        if value is None:
            raise self._no_url(f'it needs the variable "{found[1]}", which the environment does not have')
        return quote(value, safe="")

    def _no_url(self, why: str) -> GhcmError:
        return GhcmError(
            f'the connection "{self.name}" cannot be used: {why}',
            code="GHCM-780",
            hint="write it as postgresql://user:${PASSWORD}@host:5432/database or sqlite:///folder/file.db",
        )

    def _opened(self) -> Any:
        arguments: dict[str, Any] = {}
        if self.kind == "postgresql":
            arguments = dict(_arguments(self._url.query))
        if self.kind == "sqlite":
            arguments = {"timeout": _SECONDS, "check_same_thread": False}
            Path(self._url.database).parent.mkdir(parents=True, exist_ok=True)
        try:
            engine = self._library.create_engine(
                self._url, connect_args=arguments, pool_pre_ping=True, hide_parameters=True
            )
        except ImportError as error:
            raise _missing(str(error.name or self._url.drivername)) from error
        except self._library.exc.NoSuchModuleError:
            raise self._no_url(f'there is no driver for "{self._url.drivername}"') from None
        if self.kind == "sqlite":
            self._library.event.listen(engine, "connect", _begin_by_hand)
            self._library.event.listen(engine, "begin", _begin)
        return engine

    def _state(self, error: Any) -> str:
        """What kind of error it is; empty where no connection could be made."""
        own = getattr(error, "orig", None) or error
        return getattr(own, "sqlstate", None) or getattr(own, "sqlite_errorname", None) or ""

    def _text(self, error: Any) -> str:
        """What the database says, in a line, without the statement, which may be long, and without secrets."""
        text = re.sub(r"\s+LINE \d+: .*", "", " ".join(str(getattr(error, "orig", None) or error).split()))
        text = re.sub(r"[.]?\s+DETAIL: +", ". ", text)
        secret = self._url.password
        return text.replace(str(secret), "...") if secret else text

    def _is_away(self, error: Any) -> bool:
        state, text = self._state(error), self._text(error)
        if state or isinstance(error, OSError):  # its text may hold data
            return bool(_AWAY.match(state)) or getattr(error, "connection_invalidated", False)
        return not _REFUSED_TEXT.search(text) and _AWAY_TEXT.search(text) is not None

    def _said(self, doing: str, error: Any) -> GhcmError:
        state, text = self._state(error), self._text(error)
        detail = sentence(text[:500])
        if state in ("53100", "SQLITE_FULL"):
            hint = "free some room on the disk of the database; --resume goes on where it ended."
            return GhcmError(f"there is no room to {doing}", code="GHCM-731", detail=detail, hint=hint)
        message = f"cannot {doing}"
        if state.startswith("28") or (not state and _REFUSED_TEXT.search(text)):
            return GhcmError(
                f'{message}: "{self.name}" refuses the user', code="GHCM-781", detail=detail, hint=_HINTS["28"]
            )
        if self._is_away(error):
            hint = f'see that it runs, and the URL of "{self.name}" in ghcm.toml or GHCM_SQL_{self.name.upper()}.'
            message = f'{message}: "{self.name}" ({self.shown}) cannot be reached'
            return GhcmError(message, code="GHCM-781", detail=detail, hint=hint)
        hint = next((hint for begin, hint in _HINTS.items() if state.startswith(begin)), "")
        return GhcmError(message, code="GHCM-782", detail=detail, hint=hint or _hint(text))


def _arguments(query: Mapping[str, object]) -> Mapping[str, str]:
    """What a connection to PostgreSQL is made with, beside the options of its URL."""
    utc = {} if "options" in query else {"options": "-c timezone=UTC"}
    return {"connect_timeout": str(_SECONDS), **{name: str(value) for name, value in _WATCHED.items()}, **utc}


def _arrow_driver() -> Any:
    """Arrow's own driver for PostgreSQL; None where it is not installed."""
    try:
        return import_module("adbc_driver_postgresql.dbapi")
    except ImportError:
        return None


def connection_url(urls: Mapping[str, str], name: str) -> str:
    """The URL of the connection of that name. GhcmError where there is none."""
    if name not in urls:
        known = f"There is {' and '.join(sorted(urls))}." if urls else "There is none."
        hint = suggest(name, urls) or f'say it in ghcm.toml: [sql] {name} = "postgresql://user@host/database"'
        raise GhcmError(f'there is no SQL connection "{name}"', code="GHCM-780", detail=known, hint=hint)
    return urls[name]


def _hint(text: str) -> str:
    known = {"no such table": "42P01", "no such column": "42703", "database .* does not exist": "3D"}
    found = next((state for pattern, state in known.items() if re.search(pattern, text)), "")
    return _HINTS.get(found, "its own words say what it refuses.")


def _missing(package: str) -> GhcmError:
    return GhcmError(
        f"databases need the Python package {package}, which is not installed",
        code="GHCM-783",
        hint='install it for the Python that runs this: pip install "ghcm[sql]"',
    )


def _begin_by_hand(connection: Any, _: object) -> None:
    """What SQLite begins by itself begins late, after the first reads."""
    connection.isolation_level = None


def _begin(connection: Any) -> None:
    reads = connection.get_execution_options().get(READS)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
