"""Connectors: where records come from, where they rest, and where instructions travel; and what is true of each.

Plain frozen data, named by the program; which server stands behind a name is the profile's matter. What each is as a
sink stands in `ghcm.spg.sinks`; what runs it in `ghcm.runtime.sinks` and `ghcm.runtime.sources`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from string import Formatter
from typing import ClassVar, TypeAlias

from ghcm.expr import Value


class Mode(Enum):
    """What writing to a sink does: `replace` swaps the whole content per version, `upsert` keeps the latest record
    per key, `append` adds."""

    REPLACE = "replace"
    UPSERT = "upsert"
    APPEND = "append"


@dataclass(frozen=True, slots=True)
class Format:
    """How records stand in a source or file sink. `name`: json (one object a line), csv (RFC 4180, header line names
    the columns), zeek (Zeek's logs with `#` headers), text (a record `Line`); of files also parquet and arrow (IPC,
    file or stream); of messages also raw (the one field that holds the value)
    and avro.

    `separator` is csv's, and so is `keeps_empty`: of what may be null, `""` is an empty text, and nothing alone null.
    """

    name: str
    separator: str = ","
    keeps_empty: bool = False


Address: TypeAlias = tuple[str, str]
"""What holds the records ("files": a folder or file of that path), and its name there. Sinks of one address are one."""


@dataclass(frozen=True, slots=True)
class Files:
    """Files by path, directory or glob, relative to the directory of the run, read in name order. As a sink: a
    directory of files, committed as a whole.

    `compression`: "gzip", "zstd", "none", or "ending": as the ending of each name says (`.gz`, `.zst`). `clock`: event
    time "restarts" in each file, which then is one partition, or it "continues" from file to file, which together are
    one. `follow`: files that appear later are read too, each once, and the source never ends; its clock continues.
    `tail`, only with `follow`: what is appended to files is read too, line by line, whatever becomes of their names.
    """

    word: ClassVar[str] = "files"

    path: str
    format: Format
    compression: str = "ending"
    clock: str = "restarts"
    follow: bool = False
    tail: bool = False

    @property
    def ends(self) -> bool:
        """Whether what comes from there has an end."""
        return not self.follow

    @property
    def address(self) -> Address:
        """See `Address`."""
        return "files", self.path


@dataclass(frozen=True, slots=True)
class Parquet:
    """A directory of Parquet files; as a sink a Delta table, which readers see as of one commit or another. Each file
    holds rows that are alike in the columns of the `partition`.
    """

    word: ClassVar[str] = "parquet"
    ends: ClassVar[bool] = True

    path: str
    partition: tuple[str, ...] = ()

    @property
    def address(self) -> Address:
        """See `Address`."""
        return "files", self.path


@dataclass(frozen=True, slots=True)
class Table:
    """A Delta table, whoever writes it, as of its newest commit, of a `version`, or of a time (`time_us`, microseconds
    since 1970).

    `follow`: what later commits add is read too, each once, and the source never ends. `rewrites`: what becomes of a
    commit that removes or replaces rows then: it is an error ("fail"), or it is passed over as a whole ("ignore").
    """

    word: ClassVar[str] = "table"

    path: str
    version: int | None = None
    time_us: int | None = None
    follow: bool = False
    rewrites: str = "fail"

    @property
    def ends(self) -> bool:
        """Whether what comes from there has an end."""
        return not self.follow

    @property
    def address(self) -> Address:
        """See `Address`."""
        return "files", self.path


@dataclass(frozen=True, slots=True)
class Socket:
    """Lines from a TCP server at `host:port`; one partition; ends when the server closes."""

    word: ClassVar[str] = "socket"
    ends: ClassVar[bool] = False

    host: str
    port: int
    format: Format

    @property
    def address(self) -> Address:
        """See `Address`."""
        return "socket", f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Memory:
    """Rows written into the program: canonical values in the order of the record's fields; one partition."""

    word: ClassVar[str] = "memory"
    ends: ClassVar[bool] = True
    address: ClassVar[Address] = ("memory", "")

    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class Generate:
    """A clock of records `{number: int, time: timestamp}`: `number` counts from 0, `time` = `start_us` + number *
    `step_us`.

    `rows` None = without end; `rate` records per second, None = as fast as they are taken.
    """

    word: ClassVar[str] = "generate"
    address: ClassVar[Address] = ("generate", "")

    rows: int | None
    rate: float | None
    start_us: int
    step_us: int

    @property
    def ends(self) -> bool:
        """Whether what comes from there has an end."""
        return self.rows is not None


@dataclass(frozen=True, slots=True)
class Kafka:
    """A topic, or all whose names match a pattern whole: source, sink or cache; the other one is empty. A message is a
    record; CSV has the fields in their order and no header.

    `start`: the "earliest" or "latest" records; those of `start_us` and later where that is said; the "earliest" but
    in partitions of which `offsets` say another. `ends`: with what is there at first. `lost`: "fail" where the next
    record is gone, or go on with the "earliest" there is. `fields`: which parts of messages are fields of the record,
    each a word of `ghcm.formats.messages` and a name; as a sink, which column gives the "headers" of messages, whose
    values lack it. `schema`: with which values were written in Avro, as JSON; `schema_id`: what it is in a schema
    registry, where values have its header. `absent`: the JSON text that a message without a value stands for; empty:
    such a message is no record. `delivery`, as a sink: who reads what is committed sees each record
    "exactly_once", or all see it "at_least_once".
    """

    word: ClassVar[str] = "kafka"

    topic: str
    format: Format
    start: str = "earliest"
    start_us: int | None = None
    ends: bool = False
    lost: str = "fail"
    fields: tuple[tuple[str, str], ...] = ()
    pattern: str = ""
    offsets: tuple[tuple[int, int], ...] = ()
    schema: str = ""
    schema_id: int | None = None
    delivery: str = "exactly_once"
    absent: str = ""

    @property
    def address(self) -> Address:
        """See `Address`."""
        return "kafka", self.topic or self.pattern


@dataclass(frozen=True, slots=True)
class Redis:
    """A key prefix on the profile's Redis: a sink (one hash per version, see `ghcm.runtime.sinks`) or a cache.

    With a `form`, a word of `REDIS_FORMS`, a sink for other applications: each record stands under the key that
    `place` makes of it (see `template_of`), which `expire_us` after the last write is gone. `score` is the column that
    orders a sorted set. `delivery`, as a sink of streams: readers see each record once, with the commit
    ("exactly_once"), or at once, and after a crash perhaps again ("at_least_once").
    """

    word: ClassVar[str] = "redis"
    ends: ClassVar[bool] = True

    place: str
    form: str | None = None
    expire_us: int | None = None
    score: str | None = None
    delivery: str = "exactly_once"

    @property
    def address(self) -> Address:
        """See `Address`."""
        return "redis", self.place

    @property
    def prefix(self) -> str:
        """Where GHCM keeps its notes, and what is not committed. Those of a form lie in one slot of a cluster, that of
        all its keys where these have one.
        """
        if self.form is None:
            return self.place
        key = "".join(text + (f"<{field}>" if field else "") for text, field in template_of(self.place))
        tag = re.search(r"\{([^}]+)\}", key)
        return f"ghcm:{{{tag[1] if tag else key}}}:{key}"

    def left(self, columns: Sequence[str]) -> list[str]:
        """The columns that neither the key nor the score holds."""
        held = {self.score, *(field for _, field in template_of(self.place))}
        return [name for name in columns if name not in held]

    def value(self, columns: Sequence[str]) -> str | None:
        """The column whose text a key holds, or the score of a sorted set; None where it holds the record."""
        return self.score or (self.left(columns)[0] if self.form == "string" else None)


def template_of(place: str) -> tuple[tuple[str, str | None], ...]:
    """The texts of a key of Redis, each with the field whose value follows; ValueError where there is no such template.

    >>> template_of("user:{id}:{{seen}}")
    (('user:', 'id'), (':{', None), ('seen}', None))
    """
    parts = [*Formatter().parse(place)]
    for _, field, more, conversion in parts:
        if field is not None and (more or conversion or not field.isidentifier()):
            raise ValueError(f'between braces stands the name of a field alone, not "{field}" and the like')
    return tuple((text, field) for text, field, _, _ in parts)


REDIS_FORMS: Mapping[str, Mode] = {
    **dict.fromkeys(("string", "json", "hash", "sorted_set"), Mode.UPSERT),
    **dict.fromkeys(("list", "stream"), Mode.APPEND),
}
"""The forms that other applications read, by the word of the language, with their modes."""

SINGLE_FORMS = ("string", "sorted_set")
"""Those that hold one field of a record and not all of it."""


@dataclass(frozen=True, slots=True)
class Sql:
    """A table of the database that a connection of that name leads to, with its schema before a dot where it is not the
    usual one; a sink.
    """

    word: ClassVar[str] = "sql"
    ends: ClassVar[bool] = True

    connection: str
    table: str

    @property
    def address(self) -> Address:
        """See `Address`."""
        return "sql", f"{self.connection} {self.table}"


@dataclass(frozen=True, slots=True)
class SqlQuery:
    """The rows of a table or of a query ("select ...") in the database of a connection; the other one is empty. Read in
    `parts` by ranges of the column `split`; all in one where it is empty.
    """

    word: ClassVar[str] = "sql"
    ends: ClassVar[bool] = True

    connection: str
    table: str
    query: str = ""
    split: str = ""
    parts: int = 1

    @property
    def address(self) -> Address:
        """See `Address`."""
        return "sql", f"{self.connection} {self.table or 'query'}"


@dataclass(frozen=True, slots=True)
class Discard:
    """Nowhere; a sink whose rows are counted and dropped, for benchmarks and dry runs."""

    word: ClassVar[str] = "discard"
    ends: ClassVar[bool] = True
    address: ClassVar[Address] = ("discard", "")


SourceConnector: TypeAlias = Files | Table | Socket | Memory | Generate | Kafka | SqlQuery
"""What a source reads; the others are read through a sink."""

Connector: TypeAlias = SourceConnector | Parquet | Redis | Sql | Discard


def text_of(connector: Connector) -> str:
    """The connector in a few words."""
    match connector:
        case Files(path=path, format=format_, tail=tail):
            return f"{'growing ' if tail else ''}files {path} ({format_.name})"
        case Socket(format=format_):
            return f"socket {connector.address[1]} ({format_.name})"
        case Memory(rows=rows):
            return f"memory, {len(rows)} rows"
        case Generate(rows=rows):
            return f"generate {'without end' if rows is None else f'{rows} rows'}"
        case Redis(form=str(form)):
            return f"redis {form} {connector.place}"
        case _:  # the others are known by their address
            return f"{connector.word} {connector.address[1]}"


def unreadable(connector: Connector) -> str:
    """Why a sink of this connector cannot be read back; empty where it can."""
    if isinstance(connector, Redis) and connector.form is not None:
        return "Its keys are for other applications, which may change them; GHCM does not look for them again."
    if isinstance(connector, Discard):
        return "What goes there is gone."
    if isinstance(connector, Kafka):
        return f'A topic has no versions, and others may write to it: kafka("{connector.topic}") reads its messages.'
    return ""


def divides(connector: Connector) -> bool:
    """Whether several readers can share its partitions: files that are there at first, each with a clock of its own."""
    return isinstance(connector, Files) and connector.ends and connector.clock == "restarts"
