"""Places outside a program: where records come from, where they rest, and where instructions travel.

Plain frozen data, named by the program; which server stands behind a name is the profile's matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ghcm.expr import Value


@dataclass(frozen=True, slots=True)
class Format:
    """How records stand in a source or file sink. `name`: json (one object a line), csv (RFC 4180, header line names
    the columns), zeek (Zeek's logs with `#` headers), text (a record `Line`); of files also parquet and arrow (IPC,
    file or stream).

    `separator` is csv's.
    """

    name: str
    separator: str = ","


@dataclass(frozen=True, slots=True)
class Files:
    """Files by path, directory or glob, relative to the directory of the run, read in name order. As a sink: a
    directory of files, committed as a whole.

    `compression`: "gzip", "zstd", "none", or "ending": as the ending of each name says (`.gz`, `.zst`). `clock`: event
    time "restarts" in each file, which then is one partition, or it "continues" from file to file, which together are
    one. `follow`: files that appear later are read too, each once, and the source never ends; its clock continues.
    `tail`, only with `follow`: what is appended to files is read too, line by line, whatever becomes of their names.
    """

    path: str
    format: Format
    compression: str = "ending"
    clock: str = "restarts"
    follow: bool = False
    tail: bool = False


@dataclass(frozen=True, slots=True)
class Parquet:
    """A directory of Parquet files; as a sink each commit adds files that readers see at once or not at all."""

    path: str


@dataclass(frozen=True, slots=True)
class Socket:
    """Lines from a TCP server at `host:port`; one partition; ends when the server closes."""

    host: str
    port: int
    format: Format


@dataclass(frozen=True, slots=True)
class Memory:
    """Rows written into the program: canonical values in the order of the record's fields; one partition."""

    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class Generate:
    """A clock of records `{number: int, time: timestamp}`: `number` counts from 0, `time` = `start_us` + number *
    `step_us`.

    `rows` None = without end; `rate` records per second, None = as fast as they are taken.
    """

    rows: int | None
    rate: float | None
    start_us: int
    step_us: int


@dataclass(frozen=True, slots=True)
class Kafka:
    """A log of that topic on the profile's log connection: source, cache or append sink."""

    topic: str
    format: Format


@dataclass(frozen=True, slots=True)
class Redis:
    """A place on the profile's Redis connection: sink (one hash per version, see `ghcm.runtime.pubsub`) or cache."""

    place: str


Connector: TypeAlias = Files | Parquet | Socket | Memory | Generate | Kafka | Redis
