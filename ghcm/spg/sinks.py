"""What each connector is as a sink or a cache: a row of `SINKS` per word of the language.

The connectors themselves stand in `ghcm.spg.connectors`; what runs them in `ghcm.runtime.sinks`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ghcm.spg.connectors import REDIS_FORMS, Connector, Discard, Files, Format, Kafka, Mode, Parquet, Redis, Sql
from ghcm.support import Engine


@dataclass(frozen=True, slots=True)
class AsSink:
    """What a connector is as a sink.

    `make` gives it from its argument of that name (empty: it has none), a format and the arguments that are `further`.
    Its mode is the first of `modes` where none is said; `why` it has no others. `key`: why it needs one in the modes
    that are `keyed`; in the others a key has no use. `formats`: those that may be said, the first where none is.
    `locked`: a job that appends holds a lock in the folder. `table`: it is such a table, whose keys are columns and
    whose names differ in more than case; `nulls`: they may be null. `topic`: its records are messages, which may have a
    key. `engines`: which write it.
    """

    make: Callable[[str, Format], Connector] | Callable[[str, Format, str], Connector]
    argument: str
    modes: tuple[Mode, ...]
    why: str
    keyed: tuple[Mode, ...] = ()
    key: str = ""
    formats: tuple[str, ...] = ("json",)
    locked: bool = False
    table: str = ""
    nulls: bool = True
    further: tuple[str, ...] = ()
    topic: bool = False
    engines: tuple[Engine, ...] = (Engine.ROW, Engine.COLUMNAR, Engine.SPARK)


_NO_KEYS = "Files hold no keys by which a record could be found again."

SINKS: Mapping[str, AsSink] = {
    "discard": AsSink(
        lambda _, __: Discard(),
        "",
        (Mode.APPEND, Mode.REPLACE, Mode.UPSERT),
        why="",
        keyed=(Mode.UPSERT,),
        key="what is upserted is found by key",
        engines=(Engine.ROW, Engine.COLUMNAR),
    ),
    "files": AsSink(Files, "path", (Mode.APPEND, Mode.REPLACE), why=_NO_KEYS, formats=("json", "csv"), locked=True),
    "kafka": AsSink(
        Kafka, "topic", (Mode.APPEND,), why="A topic only grows.", formats=("json", "csv", "text"), topic=True
    ),
    "parquet": AsSink(
        lambda path, _: Parquet(path),
        "path",
        (Mode.APPEND, Mode.REPLACE, Mode.UPSERT),
        why="",
        keyed=(Mode.UPSERT,),
        key="what is upserted is found by key",
        locked=True,
        table="a Delta table",
    ),
    "redis": AsSink(
        lambda prefix, _: Redis(prefix),
        "place",
        (Mode.UPSERT, Mode.REPLACE),
        why="Redis keeps one record per key, and has nothing to append to.",
        keyed=(Mode.UPSERT, Mode.REPLACE),
        key="a place in Redis holds one record per key",
    ),
    "sql": AsSink(
        lambda connection, _, table: Sql(connection, table),
        "connection",
        (Mode.APPEND, Mode.REPLACE, Mode.UPSERT),
        why="",
        keyed=(Mode.UPSERT,),
        key="what is upserted is found by key",
        table="a table of a database",
        nulls=False,
        further=("table",),
        engines=(Engine.ROW, Engine.COLUMNAR),
    ),
}
"""The connectors that are sinks, by the word of the language."""


def modes_of(connector: Connector) -> tuple[Mode, ...]:
    """The modes that a sink of this connector can have."""
    if isinstance(connector, Redis) and connector.form is not None:
        return (REDIS_FORMS[connector.form],)
    return SINKS[connector.word].modes


CACHES = {word: SINKS[word] for word in ("kafka", "redis")}
"""The connectors that carry calls."""
