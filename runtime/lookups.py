"""What a lookup asks outside: the records of keys in Redis, in a database and on an HTTP server, some requests at a
time, with a time limit, again where the cause may pass, and from a cache while an answer counts.

It blocks, so that it is called on a thread of its own; batches and dead letters are the operator's business.
"""

import logging
import re
import ssl
import threading
import time
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Protocol, TypeAlias, assert_never, cast
from urllib.parse import quote, urlsplit

from redis import Redis

from ghcm.errors import GhcmError, sentence, without_password
from ghcm.formats.database_rows import DatabaseRows
from ghcm.formats.fields import from_text_field
from ghcm.formats.records import Row, json_parser, object_reader
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.worker import may_pass
from ghcm.spg.ops import Lookup
from ghcm.spg.services import PLACE, DrawnRows, GivenRows, HttpObject, RedisKey, SqlRow, drawn
from ghcm.types import Struct
from ghcm.values import has_decimal

_log = logging.getLogger(__name__)

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 5.0
_PIPELINE = 256
"""Keys that one request to Redis asks for."""
_CACHED = 100_000
"""Answers that are kept at most; the one that was asked for the longest time ago goes first."""
_LONGEST = 16 << 20
"""Bytes of an answer over HTTP."""
_BUSY = frozenset((408, 425, 429, 500, 502, 503, 504))
"""What a server answers where it may answer otherwise later."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why there is no answer to a key, or none that is a record."""

    why: str


Answer: TypeAlias = Row | NoAnswer | None
"""The record; None where the service has none."""


class Service(Protocol):
    """Somebody who is asked; threads may ask at the same time."""

    most: int
    """Keys of one request."""

    @abstractmethod
    def ask(self, keys: Sequence[object]) -> list[Answer]:
        """The answers to some keys, in their order. Raises where it is away, or refuses."""

    @abstractmethod
    def close(self) -> None:
        """Give back connections; nobody asks any more."""


class _Closed(Exception):
    """Nobody waits for an answer any more."""


class Asker:
    """Asks a service for many keys at a time."""

    def __init__(self, op: Lookup, record: Struct, connections: Connections | None, name: str) -> None:
        self._op = op
        self._name = name
        self._service = _service(op, record, connections)
        self._pool = ThreadPoolExecutor(op.parallel, f"ghcm-{name}")
        self._closing = threading.Event()
        self._cache: OrderedDict[object, tuple[float, Answer]] = OrderedDict()
        self._troubled = False

    def answers(self, keys: Sequence[object]) -> Iterator[dict[object, Answer]]:
        """The answers to some keys, each of which is asked for once, as they come: first those that are known."""
        now = time.monotonic()
        found = {key: answer for key in dict.fromkeys(keys) if not isinstance(answer := self._cached(key, now), bool)}
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if found:
            yield found
        size = max(1, min(self._service.most, -(-len(missing) // self._op.parallel)))
        parts = [missing[start : start + size] for start in range(0, len(missing), size)]
        asked = {self._pool.submit(self._insist, part): part for part in parts}
        for each in as_completed(asked):
            answered = dict(zip(asked[each], each.result(), strict=True))
            for key, answer in answered.items():
                self._keep(key, answer)
            yield answered

    def close(self) -> None:
        """End what is asked; does not wait."""
        self._closing.set()

        def end() -> None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._service.close()

        threading.Thread(target=end, name=f"ghcm-{self._name}-end", daemon=True).start()

    def _cached(self, key: object, now: float) -> Answer | bool:
        """The answer that is known; False where none is."""
        until, answer = self._cache.get(key, (0.0, None))
        if now >= until:
            return False
        self._cache.move_to_end(key)
        return answer

    def _keep(self, key: object, answer: Answer) -> None:
        if self._op.cache_us and not isinstance(answer, NoAnswer):
            self._cache[key] = (time.monotonic() + self._op.cache_us / 1e6, answer)
            if len(self._cache) > _CACHED:
                self._cache.popitem(last=False)

    def _insist(self, keys: Sequence[object]) -> list[Answer]:
        """Ask until there is an answer, or as often as is asked for."""
        pause, failed = _FIRST_PAUSE_S, 0
        while not self._closing.is_set():
            try:
                answers = self._service.ask(keys)
            except Exception as error:
                if not may_pass(error):
                    return [NoAnswer(_said(error))] * len(keys)
                failed += 1
                if self._op.retries is not None and failed > self._op.retries:
                    return [NoAnswer(_said(error))] * len(keys)
                self._note(error)
                self._closing.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_S)
            else:
                self._note(None)
                return answers
        raise _Closed

    def _note(self, error: Exception | None) -> None:
        if error is not None and not self._troubled:
            _log.warning("%s: %s; trying again", self._name, _said(error))
        if error is None and self._troubled:
            _log.info("%s: works again", self._name)
        self._troubled = error is not None


def _said(error: Exception) -> str:
    if isinstance(error, GhcmError):
        return f"{error.message}: {error.detail}".rstrip(": .")
    return sentence(error if str(error) else type(error).__name__).rstrip(".")


def _service(op: Lookup, record: Struct, connections: Connections | None) -> Service:
    service, seconds = op.service, op.timeout_us / 1e6
    match service:
        case GivenRows():
            return _Table({row[0]: row[1:] for row in service.rows}.get)
        case DrawnRows():
            return _Table(lambda key: drawn(service, key))
        case HttpObject(url=url):
            return _Http(url, record, seconds)
        case RedisKey():
            assert connections is not None, "an engine has connections"
            return _Redis(service, record, connections, seconds)
        case SqlRow():
            assert connections is not None, "an engine has connections"
            return _Sql(service, record, connections, seconds)
        case _:
            assert_never(service)


class _Table(Service):
    """What the program itself has."""

    most = 1 << 30

    def __init__(self, get: Callable[[object], Row | None]) -> None:
        self._get = get

    def ask(self, keys: Sequence[object]) -> list[Answer]:
        return [self._get(key) for key in keys]

    def close(self) -> None: ...


def _text(key: object) -> str:
    """A key as it stands in an address."""
    return str(key).lower() if isinstance(key, bool) else str(key)


class _Objects:
    """Reads JSON texts as records."""

    def __init__(self, record: Struct) -> None:
        self._parse, self._read = json_parser(written=has_decimal(record)), object_reader(record)

    def answer(self, text: bytes | None) -> Answer:
        """The record of a text; None where there is no text, or it is null."""
        if text is None:
            return None
        try:
            bare = text.decode().strip(" \t\r\n")
            return None if bare == "null" else self._read(self._parse(bare))
        except ValueError as error:
            return NoAnswer(str(error))


class _Redis(Service):
    most = _PIPELINE

    def __init__(self, service: RedisKey, record: Struct, connections: Connections, seconds: float) -> None:
        self._service = service
        self._client: Redis = connections.redis_within(seconds)
        self._objects = _Objects(record)
        self._fields = [(each.path or each.name, each.name, from_text_field(each.type)) for each in record.fields]

    def ask(self, keys: Sequence[object]) -> list[Answer]:
        client: Any = self._client  # whose commands redis-py declares with untyped parts
        pipeline = client.pipeline(transaction=False)
        get = pipeline.hgetall if self._service.form == "hash" else pipeline.get
        for key in keys:  # MGET would need all keys of a cluster in one slot
            get(self._service.pattern.replace(PLACE, _text(key)))
        return [self._answer(each) for each in pipeline.execute(raise_on_error=False)]

    def _answer(self, found: object) -> Answer:
        if isinstance(found, Exception):
            if may_pass(found):
                raise found
            return NoAnswer(_said(found))
        if self._service.form == "hash":
            return self._hash(cast("dict[bytes, bytes]", found))
        return self._objects.answer(cast("bytes | None", found))

    def _hash(self, held: dict[bytes, bytes]) -> Answer:
        if not held:
            return None
        row: list[object] = []
        for path, name, read in self._fields:
            try:
                text = held.get(path.encode())
                row.append(read("" if text is None else text.decode()))
            except ValueError as error:
                return NoAnswer(f'field "{name}": {error}')
        return tuple(row)

    def close(self) -> None:
        with suppress(Exception):  # it is given up, whatever it says
            self._client.close()


class _Sql(Service):
    most = 1

    def __init__(self, service: SqlRow, record: Struct, connections: Connections, seconds: float) -> None:
        from ghcm.tables.database import sqlalchemy

        self._text = sqlalchemy().text
        self._database = connections.database(service.connection)
        self._query, self._connection = service.query, service.connection
        self._rows = DatabaseRows(record)
        self._millis = max(1, round(seconds * 1000))

    def ask(self, keys: Sequence[object]) -> list[Answer]:
        return [self._one(key) for key in keys]

    def _one(self, key: object) -> Answer:
        with self._database.explained(f'look up a row of "{self._connection}"'), self._database.engine.connect() as at:
            if self._database.kind == "postgresql":
                at.execute(self._text(f"SET LOCAL statement_timeout = {self._millis}"))
            result = at.execute(self._text(self._query), {"key": key})
            names, rows = list(result.keys()), result.fetchmany(2)
            at.rollback()
        if not rows:
            return None
        if len(rows) > 1:
            return NoAnswer("the query gives several rows for the key")
        chosen = list(self._rows.choose(self._connection, names))
        values = dict(zip(names, rows[0], strict=True))
        row, _, why = self._rows.record(chosen, tuple(values[name] for name in chosen))
        return NoAnswer(why or "the row is no record") if row is None else row

    def close(self) -> None: ...  # whoever has the connections closes them


class _Http(Service):
    """One connection for each thread, which is kept as long as the server keeps it."""

    most = 1

    def __init__(self, url: str, record: Struct, seconds: float) -> None:
        self._url, self._seconds = urlsplit(url), seconds
        self._shown = without_password(url)
        self._target = re.sub(r"^https?://[^/?]*", "", url) or "/"
        self._objects = _Objects(record)
        self._of_thread = threading.local()
        self._all: list[HTTPConnection] = []
        self._lock = threading.Lock()

    def ask(self, keys: Sequence[object]) -> list[Answer]:
        return [self._one(quote(_text(key), safe="")) for key in keys]

    def _one(self, key: str) -> Answer:
        connection = self._connection()
        try:
            connection.request("GET", self._target.replace(PLACE, key), headers={"Accept": "application/json"})
            response = connection.getresponse()
            text = response.read(_LONGEST + 1)
        except (HTTPException, OSError) as error:
            connection.close()
            if isinstance(error, ssl.SSLCertVerificationError):
                raise
            raise ConnectionError(f'"{self._url.netloc.rpartition("@")[2]}" does not answer: {error}') from error
        if response.status == 404:
            return None
        if response.status in _BUSY:
            raise ConnectionError(f"the server answers {response.status} {response.reason}")
        if response.status != 200:
            return NoAnswer(f"the server answers {response.status} {response.reason}")
        if len(text) > _LONGEST:
            connection.close()
            return NoAnswer(f"the answer has more than {_LONGEST >> 20} MiB")
        return self._objects.answer(text)

    def _connection(self) -> HTTPConnection:
        found: HTTPConnection | None = getattr(self._of_thread, "connection", None)
        if found is None:
            kind = HTTPSConnection if self._url.scheme == "https" else HTTPConnection
            found = kind(self._url.hostname or "", self._url.port, timeout=self._seconds)
            self._of_thread.connection = found
            with self._lock:
                self._all.append(found)
        return found

    def close(self) -> None:
        for each in self._all:
            each.close()
