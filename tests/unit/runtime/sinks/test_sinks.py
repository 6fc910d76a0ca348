"""All sinks: versions are seen as a whole or not at all, whoever dies when; what is written is what is read."""

import decimal
import math
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghcm.errors import GhcmError
from ghcm.expr import Get, Lambda, Var
from ghcm.runtime.data.columns import Row, columns_of
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.backend import SinkWriter
from ghcm.runtime.sinks.sink import latest_version, open_writer, read, rows_of_call
from ghcm.source import Origin
from ghcm.spg.connectors import Connector, Files, Format, Mode, Parquet, Redis, Sql
from ghcm.spg.graph import Sink
from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Map,
    Nullable,
    String,
    Struct,
    Timestamp,
    Type,
)
from tests.redis_server import connected


class Server(Protocol):
    url: str


WORD = Struct((Field("word", String()), Field("count", Int())), "Word")
ORIGIN = Origin("test.istream", 1, 1)
KINDS = ("parquet", "json", "csv", "redis", "sqlite", "postgres")


@dataclass(frozen=True)
class Place:
    """A sink of one kind with its connections."""

    kind: str
    connections: Connections

    def sink(self, mode: Mode, element: Type = WORD, key: str = "word") -> Sink:
        name = f"s{uuid.uuid4().hex}"
        connectors: dict[str, Connector] = {
            "parquet": Parquet(f"lake/{name}"),
            "json": Files(f"lake/{name}", Format("json")),
            "csv": Files(f"lake/{name}", Format("csv")),
            "redis": Redis(name),
            "sqlite": Sql("sqlite", name),
            "postgres": Sql("postgres", name),
        }
        record = Var("r", element)
        field = element.get(key) if isinstance(element, Struct) else None
        body = record if field is None else Get(record, key, field.type)
        return Sink(name, connectors[self.kind], mode, Lambda((record,), body), element, ORIGIN)

    def writer(self, sink: Sink, writer: str = "job/steps", call: str | None = None) -> SinkWriter:
        return open_writer(sink, self.connections, writer=writer, key=lambda row: row[0], call=call)

    def read(self, sink: Sink, version: str | None = None) -> list[Row]:
        return sorted(read(sink, self.connections, version=version), key=repr)


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    kind: str = request.param
    connections = connected(tmp_path)
    postgres = request.getfixturevalue("postgres") if kind == "postgres" else ""
    connections.sql = {"sqlite": "sqlite:///lake/tables.db", "postgres": postgres}
    yield Place(kind, connections)
    connections.close()


def test_nothing_is_seen_before_the_commit_and_all_of_it_after(place: Place) -> None:
    sink = place.sink(Mode.REPLACE)
    writer = place.writer(sink)
    assert place.read(sink) == []
    assert latest_version(sink, place.connections) is None
    writer.write([("a", 1), ("b", 2)])
    writer.write([("c", 3)])
    assert (writer.pending, place.read(sink)) == (3, [])
    assert (writer.prepare("v1"), writer.pending, place.read(sink)) == (3, 0, [])
    writer.write([("d", 4)])  # before the commit, and no part of it
    commit = writer.commit("v1")
    assert (commit.version, commit.rows, writer.pending) == ("v1", 3, 1)
    assert place.read(sink) == [("a", 1), ("b", 2), ("c", 3)]
    assert latest_version(sink, place.connections) == "v1"
    writer.prepare("v2")
    assert (writer.commit("v2").rows, place.read(sink)) == (1, [("d", 4)])
    writer.close()


def test_frames_and_rows_are_the_same(place: Place) -> None:
    sink = place.sink(Mode.REPLACE)
    writer = place.writer(sink)
    rows: list[Row] = [("a", 1), ("b", 2)]
    writer.write(columns_of(rows, [("word", String()), ("count", Int())]))
    writer.write([("c", 3)])
    writer.prepare("v1")
    writer.commit("v1")
    writer.close()
    assert place.read(sink) == [*rows, ("c", 3)]


def test_a_replacing_version_takes_the_place_of_the_former(place: Place) -> None:
    sink = place.sink(Mode.REPLACE)
    writer = place.writer(sink)
    for version, rows in (("v1", [("a", 1), ("b", 1)]), ("v2", [("b", 2)]), ("v3", [])):
        writer.write(rows)
        writer.prepare(version)
        writer.commit(version)
        assert place.read(sink) == rows
    writer.close()
    assert place.read(sink, "v1") == [("a", 1), ("b", 1)]
    assert place.read(sink, "v2") == [("b", 2)]
    with pytest.raises(GhcmError, match='has no version "v0"'):
        place.read(sink, "v0")


@pytest.mark.parametrize("place", ["parquet", "redis", "sqlite", "postgres"], indirect=True)
def test_rows_that_are_taken_back_are_gone_with_the_next_version(place: Place) -> None:
    sink = place.sink(Mode.UPSERT)
    first = place.writer(sink)
    first.write([("a", 1), ("b", 1), ("c", 1)])
    first.prepare("v1")
    first.commit("v1")
    first.remove([("b", 1), ("never", 0)])
    first.write(columns_of([("c", 2), ("d", 2)], [("word", String()), ("count", Int())]))
    first.prepare("v2")  # it dies here
    assert place.read(sink) == [("a", 1), ("b", 1), ("c", 1)]
    second = place.writer(sink)
    second.recover(keep={"v2"})
    second.commit("v2")
    assert place.read(sink) == [("a", 1), ("c", 2), ("d", 2)]
    second.remove([("a", 1), ("c", 2), ("d", 2)])
    second.prepare("v3")
    second.commit("v3")
    assert place.read(sink) == []
    for writer in (first, second):
        writer.close()


def test_a_prepared_version_is_committed_by_the_next_writer(place: Place) -> None:
    sink = place.sink(Mode.REPLACE)
    first = place.writer(sink)
    first.write([("a", 1)])
    first.prepare("v1")
    first.write([("lost", 9)])  # it dies here, with rows that are in no snapshot
    second = place.writer(sink)
    second.recover(keep={"v1"})
    assert second.commit("v1").rows == 1
    assert second.commit("v1").rows == 1
    assert place.read(sink) == [("a", 1)]
    second.write([("b", 2)])
    second.prepare("v2")
    second.commit("v2")
    second.close()
    assert place.read(sink) == [("b", 2)]
    first.close()


def test_preparing_again_what_was_committed_changes_nothing(place: Place) -> None:
    sink = place.sink(Mode.REPLACE)
    for _ in range(2):
        writer = place.writer(sink)
        writer.write([("a", 1)])
        writer.prepare("v1")
        writer.commit("v1")
        writer.close()
    assert place.read(sink) == [("a", 1)]


def test_preparing_again_before_the_commit_counts_once(place: Place) -> None:
    sink = place.sink(Mode.REPLACE)
    for _ in range(2):
        writer = place.writer(sink)
        writer.write([("a", 1)])
        writer.prepare("v1")
        writer.close()
    writer = place.writer(sink)
    assert writer.commit("v1").rows == 1
    writer.close()
    assert place.read(sink) == [("a", 1)]


def test_an_aborted_version_is_gone(place: Place) -> None:
    sink = place.sink(Mode.REPLACE)
    writer = place.writer(sink)
    writer.write([("a", 1)])
    writer.prepare("v1")
    writer.abort("v1")
    writer.abort("v1")
    with pytest.raises(GhcmError, match="never prepared"):
        writer.commit("v1")
    assert place.read(sink) == []
    writer.close()


def test_recovery_drops_only_what_this_writer_had_prepared(place: Place) -> None:
    sink = place.sink(Mode.REPLACE)
    mine, other = place.writer(sink, "job-1/steps"), place.writer(sink, "job-2/steps")
    mine.write([("a", 1)])
    mine.prepare("mine")
    other.write([("b", 2)])
    other.prepare("other")
    again = place.writer(sink, "job-1/steps")
    again.recover()
    with pytest.raises(GhcmError, match="never prepared"):
        again.commit("mine")
    other.commit("other")
    assert place.read(sink) == [("b", 2)]
    for writer in (mine, other, again):
        writer.close()


def test_the_rows_of_a_call_are_read_in_pages(place: Place) -> None:
    sink = place.sink(Mode.REPLACE)
    for call in ("call-1", "call-2"):
        writer = place.writer(sink, call, call=call)
        writer.write([(f"{call}-{n:02d}", n) for n in range(25)])
        writer.prepare(call)
        writer.commit(call)
        writer.close()
    found: list[Row] = []
    for offset in (0, 10, 20, 30):
        page = rows_of_call(sink, place.connections, call="call-1", limit=10, offset=offset)
        assert page.total == 25
        found += page.rows
    assert found == [(f"call-1-{n:02d}", n) for n in range(25)]
    assert sorted(read(sink, place.connections, call="call-1")) == found


@pytest.mark.parametrize("version", ["", "../escape", ".hidden", "a/b c:d", "é" * 30])
def test_a_version_may_be_any_text_that_is_not_empty(place: Place, version: str, tmp_path: Path) -> None:
    sink = place.sink(Mode.REPLACE)
    writer = place.writer(sink)
    writer.write([("a", 1)])
    if version == "" and place.kind in ("parquet", "json", "csv"):
        with pytest.raises(GhcmError, match="cannot be a version"):
            writer.prepare(version)
    elif version:
        writer.prepare(version)
        writer.commit(version)
        assert place.read(sink) == place.read(sink, version) == [("a", 1)]
        assert not (tmp_path / "escape").exists()
    writer.close()


EVERYTHING = Struct(
    (
        Field("key", String()),
        Field("bool", Nullable(Bool())),
        Field("int", Nullable(Int())),
        Field("int32", Nullable(Int32())),
        Field("float", Nullable(Float())),
        Field("decimal", Nullable(Decimal(12, 3))),
        Field("bytes", Nullable(Bytes())),
        Field("at", Nullable(Timestamp())),
        Field("day", Nullable(Date())),
        Field("took", Nullable(Duration())),
        Field("tags", Nullable(List(Nullable(String())))),
        Field("inner", Nullable(Struct((Field("x", Nullable(Float())), Field("at", Timestamp()))))),
        Field("counts", Nullable(Map(String(), Nullable(Int())))),
        Field("ranks", Nullable(Map(Int(), List(Timestamp())))),
    )
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
moments = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)
everything = st.tuples(
    texts,
    st.none() | st.booleans(),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.floats(),
    st.none() | st.integers(-(10**12) + 1, 10**12 - 1).map(lambda n: decimal.Decimal(n).scaleb(-3)),
    st.none() | st.binary(max_size=8),
    st.none() | moments,
    st.none() | st.integers(-719_162, 2_932_896),
    st.none() | st.integers(-(2**62), 2**62),
    st.none() | st.lists(st.none() | texts, max_size=3),
    st.none() | st.tuples(st.none() | st.floats(), moments),
    st.none() | st.dictionaries(texts, st.none() | st.integers(-9, 9), max_size=3),
    st.none() | st.dictionaries(st.integers(-9, 9), st.lists(moments, max_size=2), max_size=3),
)


@given(rows=st.lists(everything, max_size=5, unique_by=lambda row: row[0]), as_frame=st.booleans())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_value_comes_back(place: Place, rows: list[Row], as_frame: bool) -> None:
    if place.kind == "postgres":  # which refuses them: see test_sql_sink.py
        rows = [row for row in rows if "\0" not in str(row[0])]
    sink = place.sink(Mode.REPLACE, EVERYTHING, "key")
    writer = place.writer(sink)
    types = [(field.name, field.type) for field in EVERYTHING.fields]
    writer.write(columns_of(rows, types) if as_frame else rows)
    writer.prepare("v1")
    assert writer.commit("v1").rows == len(rows)
    writer.close()
    assert sorted(map(printed, read(sink, place.connections))) == sorted(map(printed, rows))


def printed(row: Row) -> str:
    """The row as text in which NaN equals itself, and zero its negative."""
    return repr(
        [value if not isinstance(value, float) else math.nan if math.isnan(value) else value + 0.0 for value in row]
    )


def test_upsert_keeps_the_latest_row_of_each_key(tmp_path: Path) -> None:
    place = Place("redis", connected(tmp_path))
    sink = place.sink(Mode.UPSERT)
    writer = place.writer(sink, call="call-1")
    writer.write([("a", 1), ("b", 1), ("a", 2)])
    writer.prepare("call-1")
    writer.commit("call-1")
    second = place.writer(sink, call="call-2")
    second.write([("b", 3), ("c", 3)])
    second.prepare("call-2")
    assert place.read(sink) == [("a", 2), ("b", 1)]
    second.commit("call-2")
    second.commit("call-1")  # a late repetition brings nothing back
    assert place.read(sink) == place.read(sink, "call-1") == [("a", 2), ("b", 3), ("c", 3)]
    assert rows_of_call(sink, place.connections, call="call-1", limit=10).rows == [("a", 2), ("b", 1)]
    assert latest_version(sink, place.connections) == "call-2"
    place.connections.close()


def test_large_upserts_arrive_whole(tmp_path: Path) -> None:
    place = Place("redis", connected(tmp_path))
    sink = place.sink(Mode.UPSERT)
    writer = place.writer(sink)
    rows: list[Row] = [(f"word {n}", n) for n in range(35_000)]
    for start in range(0, len(rows), 5000):
        writer.write(rows[start : start + 5000])
    writer.prepare("v1")
    writer.commit("v1")
    assert sorted(read(sink, place.connections)) == sorted(rows)
    place.connections.close()


@pytest.mark.parametrize("kind", ["parquet", "json", "csv"])
def test_appended_versions_add_up(kind: str, tmp_path: Path) -> None:
    place = Place(kind, connected(tmp_path))
    sink = place.sink(Mode.APPEND)
    writer = place.writer(sink)
    for number in range(3):
        writer.write([("a", number)])
        writer.prepare(f"v{number}")
        writer.commit(f"v{number}")
    writer.prepare("v3")  # nothing came in between
    writer.commit("v3")
    assert place.read(sink) == [("a", 0), ("a", 1), ("a", 2)]
    assert place.read(sink, "v1") == [("a", 0), ("a", 1)]
    assert rows_of_call(sink, place.connections, call="v1", limit=10).rows == [("a", 1)]
    writer.close()


def test_scalars_stand_in_the_column_value(place: Place) -> None:
    sink = place.sink(Mode.REPLACE, String())
    writer = place.writer(sink)
    writer.write([("a",), ("b",)])
    writer.prepare("v1")
    writer.commit("v1")
    writer.close()
    assert place.read(sink) == [("a",), ("b",)]


@pytest.mark.parametrize(
    ("connector", "mode", "said"),
    [
        (Files("p", Format("json")), Mode.UPSERT, "cannot be upserted"),
        (Redis("r"), Mode.APPEND, "cannot be appended to"),
    ],
)
def test_a_mode_that_a_sink_has_not_is_refused(connector: Connector, mode: Mode, said: str, tmp_path: Path) -> None:
    record = Var("r", WORD)
    sink = Sink("s", connector, mode, Lambda((record,), Get(record, "word", String())), WORD, ORIGIN)
    with pytest.raises(GhcmError, match=said):
        open_writer(sink, connected(tmp_path), writer="w", key=lambda row: row[0])
