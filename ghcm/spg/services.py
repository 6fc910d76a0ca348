"""A lookup, and what it asks for each key: a key of Redis, a row of a database, an object of an HTTP server, or a table
that is given with the program.

Plain frozen data; `ghcm.runtime.lookups` asks. The reference knows what is given only, and so is told the others as
tables at one moment.
"""

from dataclasses import dataclass
from typing import ClassVar, TypeAlias, assert_never

from ghcm.expr import Value
from ghcm.spg.traits import Traits, operation

PLACE = "{key}"
"""Stands in an address for the key that is looked up."""


@dataclass(frozen=True, slots=True)
class RedisKey:
    """The key of Redis that `pattern` gives, which holds the record as a JSON text or (`form` "hash") as fields."""

    word: ClassVar[str] = "redis"

    pattern: str
    form: str = "json"


@dataclass(frozen=True, slots=True)
class SqlRow:
    """The row that a query with the parameter `:key` gives, on the database of that connection."""

    word: ClassVar[str] = "sql"

    connection: str
    query: str


@dataclass(frozen=True, slots=True)
class HttpObject:
    """The JSON object that a GET of the address gives; a server that answers 404 has none."""

    word: ClassVar[str] = "http"

    url: str


@dataclass(frozen=True, slots=True)
class GivenRows:
    """Rows of the key and the columns of its record; the last of a key counts."""

    word: ClassVar[str] = "memory"

    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """A table that has for every key one of these records, or none, by a hash of the key: what `ghcm verify` asks in
    place of a server.
    """

    word: ClassVar[str] = "drawn"

    rows: tuple[tuple[Value, ...], ...]


Service: TypeAlias = RedisKey | SqlRow | HttpObject | GivenRows | DrawnRows


@operation(Traits())
class Lookup:
    """The record that a service has for the `key` of each record, a struct `{key, left}`: `{left, right}`, in the order
    of the records, or unless `ordered` in that of the answers; `right` is null where the service has none, and where
    the key is null, for which nobody is asked.

    `parallel`: so many requests at most are under way at a time. One lasts `timeout_us` at most; one that fails for a
    reason that may pass is repeated `retries` times, without end where that is None, and nothing more is taken until
    then. What has no answer then, or one that is no record, is a dead letter (`lookup`) that holds `left`. An answer
    counts for `cache_us`, also that there is none.
    """

    service: Service
    timeout_us: int = 5_000_000
    retries: int | None = None
    parallel: int = 16
    cache_us: int = 0
    ordered: bool = True


def service_text(service: Service) -> str:
    """The service in a few words."""
    match service:
        case RedisKey(pattern=where) | HttpObject(url=where) | SqlRow(connection=where):
            return f"{service.word} {where}"
        case GivenRows(rows=rows) | DrawnRows(rows=rows):
            return f"{service.word}, {len(rows)} rows"
        case _:
            assert_never(service)


def drawn(service: DrawnRows, key: object) -> tuple[Value, ...] | None:
    """The record that such a table has for a key.

    >>> drawn(DrawnRows(((1,), (2,))), "a"), drawn(DrawnRows(((1,), (2,))), "b")
    ((2,), None)
    """
    place = sum(str(key).encode()) % (len(service.rows) + 1)
    return service.rows[place] if place < len(service.rows) else None
