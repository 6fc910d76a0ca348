"""Tables of databases as sinks: what is upserted, what is kept of versions, tables that are there already, errors."""

from __future__ import annotations

import decimal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from ghcm.errors import GhcmError
from ghcm.expr import Get, Lambda, MakeStruct, Var
from ghcm.runtime.data.columns import Row, columns_of
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.backend import SinkWriter
from ghcm.runtime.sinks.sink import latest_version, open_writer, read, rows_of_call, view
from ghcm.runtime.worker import may_pass
from ghcm.source import Origin
from ghcm.spg.connectors import Mode, Sql
from ghcm.spg.graph import Sink
from ghcm.tables.database import Away, Database
from ghcm.types import Decimal, Field, Int, Int32, List, Nullable, String, Struct, Timestamp
from tests.postgres_server import PostgresServer

WORD = Struct((Field("word", String()), Field("count", Int()), Field("note", Nullable(String()))), "Word")
ORIGIN = Origin("test.istream", 1, 1)


@dataclass
class Place:
    """A database, and what asks it besides us."""

    connections: Connections
    kind: str

    def ask(self, statement: str) -> list[Row]:
        with self.connections.database("db").engine.begin() as connection:
            done = connection.exec_driver_sql(statement)
            return [tuple(row) for row in done] if done.returns_rows else []

    def sink(self, mode: Mode, *key: str, columns: Struct = WORD, table: str = "words") -> Sink:
        record = Var("r", columns)
        fields = tuple(field for name in key if (field := columns.get(name)) is not None)
        parts = tuple(Get(record, field.name, field.type) for field in fields)
        body = parts[0] if len(parts) == 1 else MakeStruct(parts, Struct(fields))
        return Sink("s", Sql("db", table), mode, Lambda((record,), body) if key else None, columns, ORIGIN)

    def writer(self, sink: Sink, writer: str = "job", call: str | None = None) -> SinkWriter:
        return open_writer(sink, self.connections, writer=writer, key=None, call=call)

    def rows(self, sink: Sink) -> list[Row]:
        return sorted(read(sink, self.connections), key=repr)


def add(writer: SinkWriter, version: str, *rows: Row) -> None:
    writer.write(list(rows))
    writer.prepare(version)
    writer.commit(version)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    url = "sqlite:///data.db" if request.param == "sqlite" else request.getfixturevalue("postgres")
    connections = Connections(tmp_path, sql={"db": url})
    yield Place(connections, request.param)
    connections.close()


def test_upserting_keeps_the_latest_row_of_each_key(place: Place) -> None:
    sink = place.sink(Mode.UPSERT, "word")
    writer = place.writer(sink, call="call-1")
    add(writer, "call-1", ("a", 1, None), ("b", 1, "x"), ("a", 2, None))
    second = place.writer(sink, call="call-2")
    second.write([("b", 3, None), ("c", 3, "")])
    second.prepare("call-2")
    assert place.rows(sink) == [("a", 2, None), ("b", 1, "x")]
    second.commit("call-2")
    second.commit("call-1")  # a late repetition brings nothing back
    assert place.rows(sink) == [("a", 2, None), ("b", 3, None), ("c", 3, "")]
    page = rows_of_call(sink, place.connections, call="call-1", limit=10)
    assert (page.rows, page.total) == ([("a", 2, None), ("b", 1, "x")], 2)
    assert latest_version(sink, place.connections) == "call-2"
    snapshot = view(sink, place.connections).snapshot(2)
    assert (snapshot.version, snapshot.frame.height, snapshot.whole) == ("call-2", 2, False)


def test_a_key_may_be_of_several_columns_and_a_table_of_nothing_else(place: Place) -> None:
    columns = Struct((Field("day", Int32()), Field("host", String())))
    sink = place.sink(Mode.UPSERT, "day", "host", columns=columns)
    writer = place.writer(sink)
    add(writer, "v1", (1, "a"), (1, "b"), (1, "a"))
    add(writer, "v2", (1, "b"), (2, "b"))
    assert place.rows(sink) == [(1, "a"), (1, "b"), (2, "b")]


def test_many_rows_of_one_version_arrive_in_their_order(place: Place) -> None:
    sink = place.sink(Mode.UPSERT, "word")
    writer = place.writer(sink)
    types = [(field.name, field.type) for field in WORD.fields]
    for number in range(5):  # more than is held in memory
        writer.write(columns_of([(f"w{n}", number, None) for n in range(30_000)], types))
    assert (writer.pending, writer.prepare("v1")) == (150_000, 150_000)
    writer.commit("v1")
    assert sorted(read(sink, place.connections)) == sorted((f"w{n}", 4, None) for n in range(30_000))


def test_what_streams_leave_behind_does_not_grow(place: Place) -> None:
    sink = place.sink(Mode.APPEND)
    writer = place.writer(sink)
    for number in range(1, 21):
        add(writer, f"job-u-words-{number:010d}-0123abcd", ("a", number, None))
    (staged,) = place.ask("select count(*) from ghcm_versions where part <> ''")
    assert staged == (1,)
    tables = [row for row in staged_tables(place) if row]
    assert [place.ask(f'select count(*) from "{name}"') for name in tables] == [[(1,)]]
    assert place.rows(sink) == sorted((("a", n, None) for n in range(1, 21)), key=repr)
    commits = view(sink, place.connections).commits()
    versions = [commit.version for commit in commits]
    assert versions == [f"job-u-words-{number:010d}-0123abcd" for number in range(1, 21)]
    assert [commit.version for commit in commits if commit.kept] == versions[-1:]
    assert rows_of_call(sink, place.connections, call=versions[-1], limit=9).rows == [("a", 20, None)]
    with pytest.raises(GhcmError, match="has no version") as refused:
        rows_of_call(sink, place.connections, call=versions[-2], limit=9)
    assert refused.value.code == "GHCM-732"
    place.ask("delete from ghcm_versions where number < 20")  # as it is after ten minutes
    again = place.writer(sink)
    assert again.commit("job-u-words-0000000007-0123abcd").version == "job-u-words-0000000007-0123abcd"
    with pytest.raises(GhcmError, match="never prepared"):
        again.commit("job-u-words-0000000021-0123abcd")
    assert len(place.rows(sink)) == 20


def staged_tables(place: Place) -> list[str]:
    where = (
        "select name from sqlite_master where type = 'table'"
        if place.kind == "sqlite"
        else "select tablename from pg_tables where schemaname = 'public'"
    )
    return [str(name) for (name,) in place.ask(where) if str(name).startswith("ghcm_staged")]


def test_what_a_dead_writer_had_not_prepared_goes(place: Place) -> None:
    sink = place.sink(Mode.APPEND)
    dead, other = place.writer(sink, "one"), place.writer(sink, "two")
    for writer in (dead, other):
        writer.write([(f"w{n}", n, None) for n in range(70_000)])  # staged, and not prepared
    again = place.writer(sink, "one")
    again.recover()
    assert other.prepare("v1") == 70_000
    other.commit("v1")
    (name,) = staged_tables(place)
    assert place.ask(f'select count(*) from "{name}"') == [(70_000,)]  # for who asks for the rows of that call
    assert len(place.rows(sink)) == 70_000


def test_a_table_that_is_there_gets_what_it_lacks_and_keeps_what_it_has(place: Place) -> None:
    place.ask("create table words (extra integer default 7, word varchar(20) primary key, count bigint not null)")
    place.ask("insert into words values (1, 'old', 1)")
    sink = place.sink(Mode.UPSERT, "word")
    add(place.writer(sink), "v1", ("new", 2, "n"), ("old", 3, None))
    assert place.rows(sink) == [("new", 2, "n"), ("old", 3, None)]
    assert sorted(place.ask("select extra, word from words")) == [(1, "old"), (7, "new")]


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ("word text, note text", 'no column "count"'),
        ("word text, count text, note text", 'column "count" is text, and that of these records'),
        ("word text, count bigint, note text not null", 'column "note" holds no nulls'),
        ("word text, count bigint, note text, more text not null", 'column "more" cannot be null'),
        ("word text, count bigint, note text", "no primary key and no unique index of word"),
    ],
)
def test_a_table_that_cannot_take_the_records_is_refused(place: Place, there: str, said: str) -> None:
    place.ask(f"create table words ({there})")
    with pytest.raises(GhcmError, match="cannot take these records") as refused:
        place.writer(place.sink(Mode.UPSERT, "word"))
    assert refused.value.code == "GHCM-734"
    assert said in refused.value.detail
    assert refused.value.hint


def test_decimals_need_room_for_all_of_their_digits(postgres: str, tmp_path: Path) -> None:
    place = Place(Connections(tmp_path, sql={"db": postgres}), "postgres")
    columns = Struct((Field("price", Decimal(12, 3)),))
    for number, (held, fits) in enumerate(
        [("numeric", True), ("numeric(14,4)", True), ("numeric(12,2)", False), ("numeric(12,4)", False)]
    ):
        place.ask(f"create table t{number} (price {held} not null)")
        sink = place.sink(Mode.APPEND, columns=columns, table=f"t{number}")
        if not fits:
            with pytest.raises(GhcmError, match="cannot take these records"):
                place.writer(sink)
            continue
        add(place.writer(sink), "v", (decimal.Decimal("123456789.123"),))
        assert place.rows(sink) == [(decimal.Decimal("123456789.123"),)]
    place.connections.close()


def test_others_see_the_types_of_the_database(postgres: str, tmp_path: Path) -> None:
    place = Place(Connections(tmp_path, sql={"db": postgres}), "postgres")
    place.ask("create schema lake")
    columns = Struct((Field("at", Timestamp()), Field("tags", List(String()))))
    add(place.writer(place.sink(Mode.APPEND, columns=columns, table="lake.t")), "v", (1_000_000, ["a", 'b"\\']))
    assert place.ask("select extract(epoch from at)::int, tags->>1 from lake.t") == [(1, 'b"\\')]
    place.connections.close()


def test_a_text_that_postgres_cannot_hold_is_refused_and_what_comes_next_is_not(postgres: str, tmp_path: Path) -> None:
    place = Place(Connections(tmp_path, sql={"db": postgres}), "postgres")
    sink = place.sink(Mode.APPEND)
    writer = place.writer(sink)
    writer.write([("a\0", 1, None)])
    with pytest.raises(GhcmError, match='cannot write to "words"') as refused:
        writer.prepare("v1")
    assert (refused.value.code, "character 0" in refused.value.hint) == ("GHCM-782", True)
    assert not may_pass(refused.value)
    assert place.rows(sink) == []
    place.connections.close()


def test_a_constraint_of_the_table_is_said_and_nothing_of_the_version_is_seen(place: Place) -> None:
    place.ask("create table words (word text not null, count bigint check (count < 10), note text)")
    sink = place.sink(Mode.APPEND, columns=Struct((*WORD.fields[:1], Field("count", Nullable(Int())), WORD.fields[2])))
    writer = place.writer(sink)
    writer.write([("a", 1, None), ("b", 11, None)])
    writer.prepare("v1")
    with pytest.raises(GhcmError, match='cannot commit to "words"') as refused:
        writer.commit("v1")
    assert refused.value.code == "GHCM-782"
    assert "breaks a rule of the table" in refused.value.hint
    assert place.rows(sink) == []


def test_no_room_on_the_disk_is_said(tmp_path: Path) -> None:
    place = Place(Connections(tmp_path, sql={"db": "sqlite:///data.db"}), "sqlite")
    writer = place.writer(place.sink(Mode.APPEND))
    raw = place.connections.database("db").engine
    with raw.connect() as connection:  # the pool gives the same one to the next who asks
        connection.exec_driver_sql("PRAGMA max_page_count = 40")
    writer.write([("x" * 10_000, n, None) for n in range(100)])
    with pytest.raises(GhcmError, match="there is no room") as refused:
        writer.prepare("v1")
    assert refused.value.code == "GHCM-731"
    place.connections.close()


@pytest.mark.parametrize(
    ("url", "code", "said", "passes"),
    [
        ("postgresql://me:secret@/x?host=/nowhere", "GHCM-781", "cannot be reached", True),
        ("postgresql://me:secret@127.0.0.1:1/x", "GHCM-781", "cannot be reached", True),
        ("postgresql://${GHCM_NOBODY}@host/x", "GHCM-780", 'the variable "GHCM_NOBODY"', False),
        ("what is this", "GHCM-780", "cannot be read", False),
        ("oraclf://x/y", "GHCM-734", "a database of oraclf", False),
        ("sqlite://", "GHCM-780", "names no file", False),
        ("sqlite:////proc/nowhere/x.db", "GHCM-782", "/proc/nowhere", False),
    ],
)
def test_a_connection_that_cannot_be_used_is_said(tmp_path: Path, url: str, code: str, said: str, passes: bool) -> None:
    place = Place(Connections(tmp_path, sql={"db": url}), "none")
    with pytest.raises(GhcmError) as refused:
        place.writer(place.sink(Mode.APPEND))
    text = str(refused.value)
    assert (refused.value.code, said in text, may_pass(refused.value)) == (code, True, passes)
    assert "secret" not in text and refused.value.hint


def test_a_name_that_is_not_configured_is_said(tmp_path: Path) -> None:
    place = Place(Connections(tmp_path, sql={"dbs": "sqlite:///x.db"}), "none")
    with pytest.raises(GhcmError, match='no SQL connection "db"') as refused:
        place.writer(place.sink(Mode.APPEND))
    assert (refused.value.code, "dbs" in refused.value.hint) == ("GHCM-780", True)


def test_a_wrong_password_is_said_without_it(postgres_server: PostgresServer, tmp_path: Path) -> None:
    postgres_server.guard("guarded", "right")
    for password, right in (("right", True), ("wrong-one", False)):
        url = postgres_server.url("postgres", "guarded", "${GHCM_TEST_PASSWORD}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GHCM_TEST_PASSWORD", password)
            place = Place(Connections(tmp_path, sql={"db": url}), "postgres")
            if right:
                assert place.ask("select current_user") == [("guarded",)]
            else:
                with pytest.raises(GhcmError, match="refuses the user") as refused:
                    place.writer(place.sink(Mode.APPEND))
                assert (refused.value.code, may_pass(refused.value)) == ("GHCM-781", False)
                assert "wrong-one" not in str(refused.value)
            place.connections.close()


def test_a_server_that_crashes_and_comes_back_loses_nothing(postgres_server: PostgresServer, tmp_path: Path) -> None:
    postgres_server.ask("postgres", "create database crashed")
    place = Place(Connections(tmp_path, sql={"db": postgres_server.url("crashed")}), "postgres")
    sink = place.sink(Mode.UPSERT, "word")
    writer = place.writer(sink)
    writer.write([("a", 1, None)])
    writer.prepare("v1")
    postgres_server.stop()
    with pytest.raises(GhcmError, match="cannot be reached") as away:
        writer.commit("v1")
    assert may_pass(away.value)
    postgres_server.start()
    assert (writer.commit("v1").rows, writer.commit("v1").rows) == (1, 1)
    assert place.rows(sink) == [("a", 1, None)]
    place.connections.close()


def test_an_answer_that_is_lost_doubles_and_loses_nothing(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = place.sink(Mode.APPEND)
    writer = place.writer(sink)
    database, writing = place.connections.database("db"), Database.writing
    lost = 0

    @contextmanager
    def forgetful(self: Database, doing: str) -> Iterator[object]:
        nonlocal lost
        with writing(self, doing) as connection:
            yield connection
        lost += 1
        if lost % 2:
            raise GhcmError(f"cannot {doing}") from Away("the connection was lost behind the commit")

    monkeypatch.setattr(type(database), "writing", forgetful)

    def stubborn(job: Callable[[], object]) -> None:
        try:
            job()
        except GhcmError as error:
            assert may_pass(error)
            stubborn(job)

    rows: list[Row] = [(f"w{n}", n, None) for n in range(150_000)]
    for start in range(0, len(rows), 10_000):
        stubborn(partial(writer.write, rows[start : start + 10_000]))
    stubborn(lambda: writer.prepare("v1"))
    stubborn(lambda: writer.commit("v1"))
    writer.close()
    assert lost >= 8
    assert sorted(read(sink, place.connections), key=lambda row: cast("int", row[1])) == rows


def test_without_its_packages_it_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "from ghcm.runtime.pubsub.connections import Connections; from pathlib import Path\n"
        "import ghcm.runtime.sinks.sink\n"
        "try: Connections(Path('.'), sql={'db': 'sqlite:///x'}).database('db')\n"
        "except Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "GHCM-783" in done.stdout and 'pip install "ghcm[sql]"' in done.stdout
