"""Sources, sinks and msg caches of a program in Python, their connectors, and windows."""

from datetime import datetime, timedelta
from typing import Any, Literal

from ghcm.language import ast
from ghcm.language.fluent.pipelines import Duration, Pipeline, Row, applied, start
from ghcm.language.fluent.positions import assigned_name, caller, here, mistake
from ghcm.language.fluent.tracing import Traced
from ghcm.language.fluent.values import later, name_of, next_order
from ghcm.source import Span

Mode = Literal["replace", "upsert", "append"]


def files(path: str, **options: Any) -> Pipeline:
    """Records of files by path, directory or glob, as a source; a directory of files, as a sink.

    Options: `format` ("json", "csv", "tsv", "zeek", "eve", "text", "parquet", "arrow"), `separator` (of csv),
    `keep_empty` (whether `""` in csv is an empty text where nothing is null), `compression` ("gzip", "zstd", "none"; as
    the names end where it is not said), `clock` ("restarts", "continues": whether event time begins anew in each file),
    `follow` (whether files that appear later are read too), `tail` (whether what is appended to files is read too); of
    a sink `mode` ("append", "replace") and `record`.
    """
    return start("files", (path,), options)


def table(path: str, **options: Any) -> Pipeline:
    """Rows of a Delta table. Options: `at` (a version, or a time), `follow` (whether what later commits add is read
    too), `rewrites` ("fail", "ignore": what becomes of commits that remove or replace rows then).
    """
    return start("table", (path,), options)


def kafka(topic: str | None = None, **options: Any) -> Pipeline:
    """A topic: source, sink or msg cache.

    Options of a source: `pattern` (of the names of topics, in place of one), `format` ("json", "csv", "tsv", "eve",
    "text"), `separator` (of csv), `start` ("earliest", "latest", a time, or offsets by partition: `[(0, 1200),
    (1, 900)]`), `until` ("latest": what is there now), `lost` ("fail", "earliest": what to do where the topic no longer
    holds what comes next); and, each the name of a field of the record that is to hold it, `key`, `timestamp`,
    `headers`, `origin` (the topic), `partition` and `offset`. Of a sink: `format` ("json", "csv", "text"), `key` (of
    the messages), `headers` (the column that gives them), `delivery` ("exactly_once", "at_least_once") and `record`.
    """
    return start("kafka", () if topic is None else (topic,), options)


def socket(address: str, **options: Any) -> Pipeline:
    """Lines from a TCP server at "host:port" until it closes. Options: `format` as of files, and `separator`."""
    return start("socket", (address,), options)


def memory(rows: list[Any]) -> Pipeline:
    """Records written into the program."""
    return start("memory", (rows,), {})


def generate(
    *,
    rows: int | None = None,
    rate: float | None = None,
    start: datetime | None = None,
    step: Duration | timedelta | None = None,
) -> Pipeline:
    """A clock of records `{number, time}`; without `rows` it never ends, without `rate` (per second) it never waits."""
    return _start("generate", (), {"rows": rows, "rate": rate, "start": start, "step": step})


_start = start


def union(*inputs: Pipeline) -> Pipeline:
    """All records of all inputs."""
    return start("union", inputs, {})


def redis(place: str, *, key: Row | None = None, mode: Mode | None = None, **options: Any) -> Pipeline:
    """A key prefix in Redis: a sink that keeps the latest record per key, or a msg cache.

    Options of a sink that other applications read, whose `place` is then a key with fields in braces ("user:{id}"):
    `form` ("string", "json", "hash", "sorted_set", "list", "stream"), `expire` (how long a key lives after it was
    written last) and `score` (of a sorted set). Of any sink: `delivery`
    ("exactly_once", "at_least_once": seen at once).
    """
    return start("redis", (place,), {"key": key, "mode": mode, **options})


def parquet(path: str, *, mode: Mode | None = None, **options: Any) -> Pipeline:
    """A Delta table as a sink. Options: `mode` ("append", "replace", "upsert"), `key` of what is upserted, `partition`
    (a function that gives the columns that divide its files) and `record`.
    """
    return start("parquet", (path,), {"mode": mode, **options})


def discard(**options: Any) -> Pipeline:
    """Nowhere: a sink that counts records and drops them. Options: `mode`, `key`, `record`."""
    return start("discard", (), options)


def sql(connection: str, table: str | None = None, **options: Any) -> Pipeline:
    """A table of a database: a source, with `query` in place of a table also a query, `split` and `parts`; or a sink
    with `mode` ("append", "replace", or "upsert", which needs a `key`) and `record`.
    """
    return start("sql", (connection,) if table is None else (connection, table), options)


def http(url: str) -> Pipeline:
    """Objects of an HTTP server, which `lookup` asks for: "https://host/users/{key}"."""
    return start("http", (url,), {})


def tumbling(size: Duration, **options: Any) -> Traced:
    """Windows of one size, one after the other. Options: `offset`, `time` ("event", "processing")."""
    return Traced(applied("tumbling", (size,), options, here()))


def sliding(size: Duration, every: Duration, **options: Any) -> Traced:
    """Windows of one size that begin every so often. Options: `offset`, `time` ("event", "processing")."""
    return Traced(applied("sliding", (size, every), options, here()))


def cumulating(size: Duration, every: Duration, **options: Any) -> Traced:
    """Windows of one size, of which every so often is given what has come so far. Options: `offset`, `time` ("event",
    "processing").
    """
    return Traced(applied("cumulating", (size, every), options, here()))


def session(gap: Duration, **options: Any) -> Traced:
    """Windows that end after a pause. Option: `time` ("event", "processing")."""
    return Traced(applied("session", (gap,), options, here()))


class _Store:
    """What rests outside of units. Its name is the variable it is assigned to, or `name=`."""

    def __init__(self, connector: Pipeline, name: str | None) -> None:
        frame = caller()
        found = assigned_name(frame) if name is None else None
        self.span = here()
        self.order = next_order()
        self.connector = connector
        self.name_span = self.span if found is None else found[1]
        self._name = name if found is None else found[0]
        self._namespace = frame.f_globals

    def __ghcm_expr__(self, span: Span) -> ast.Expr:
        """What stands for it in a tree."""
        return later(self, span)

    @property
    def name(self) -> str:
        """Its name. Raises `ProgramError` where it has none."""
        name = self._name or next((key for key, value in self._namespace.items() if value is self), None)
        if name is None:
            kind = type(self).__name__.lower()
            hint = f'assign it to a variable, or give it: .{kind}(..., name="...")'
            raise mistake("GHCM-134", f"a {kind} without a name", self.span, hint=hint)
        return name


class Cache(_Store):
    """The topic that carries calls of a unit."""


class Sink(_Store):
    """Where results rest. Units write to it with `.to(sink)` and read it with `sink.read()`."""

    def read(self) -> Pipeline:
        """Its latest complete version."""
        span = here()
        function = ast.Attribute(later(self, span), "read", span, span=span)
        return Pipeline(ast.Apply(function, (), span=span), span)


def declare_store(store: Cache | Sink) -> ast.CacheDecl | ast.SinkDecl:
    """The declaration of a msg cache or sink. Raises `ProgramError`."""
    name = name_of(store.name, store.name_span)
    declared = ast.CacheDecl if isinstance(store, Cache) else ast.SinkDecl
    return declared(name, store.connector.expr, span=store.span)
