"""Tables and queries of databases as sources: what a row becomes, parts, restarts, errors."""

from __future__ import annotations

import decimal
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sources.registry import open_source
from ghcm.runtime.sources.source import Source
from ghcm.spg.connectors import SqlQuery
from ghcm.tables import database
from ghcm.tables.queries import Query
from ghcm.types import Bool, Bytes, Date, Decimal, Field, Float, Int, List, Map, Nullable, String, Struct, Timestamp
from tests.postgres_server import PostgresServer

NUMBER = Struct((Field("n", Int()), Field("text", Nullable(String()))), "Number")


class Read:
    """What a source gives, read to its end or until so many batches came."""

    def __init__(
        self, connections: Connections, query: SqlQuery, schema: Struct, position: object = None, most: int = 10**9
    ) -> None:
        self.rows: list[Row] = []
        self.letters: list[tuple[object, ...]] = []
        self.partitions: set[str] = set()
        woken = threading.Event()

        def keep(*letter: object) -> None:
            self.letters.append(letter)

        source: Source = open_source(query, schema, "rows", connections)
        source.open(position, woken.set)
        try:
            while not source.ended and most:
                batch = source.poll(1000, keep)
                if batch is not None:
                    self.rows += batch.rows()
                    self.partitions.add(batch.partition)
                    most -= 1
                elif not source.ended:
                    assert woken.wait(60)
                    woken.clear()
            self.position = json.loads(json.dumps(source.position()))
        finally:
            source.close()


@pytest.fixture(params=["sqlite", "postgres"])
def connections(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connections]:
    url = "sqlite:///data.db" if request.param == "sqlite" else request.getfixturevalue("postgres")
    found = Connections(tmp_path, sql={"db": url})
    yield found
    found.close()


def ask(connections: Connections, *statements: str) -> None:
    with connections.database("db").engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def numbers(connections: Connections, count: int) -> None:
    ask(connections, "create table numbers (n bigint, text varchar(20))")
    series = f"with recursive s(n) as (select 1 union all select n + 1 from s where n < {count}) "
    ask(connections, f"insert into numbers {series} select n, 'text ' || n from s")


def test_a_table_is_read_whole(connections: Connections) -> None:
    numbers(connections, 40_000)
    ask(connections, "insert into numbers values (null, 'bad'), (-1, null)")
    read = Read(connections, SqlQuery("db", "numbers"), NUMBER)
    assert sorted(read.rows, key=repr) == sorted([(n, f"text {n}") for n in range(1, 40_001)] + [(-1, None)], key=repr)
    assert read.partitions == {"rows"}
    ((reason, detail, text),) = read.letters
    assert (str(reason), text) == ("Failure.BAD_RECORD", '{"n":null,"text":"bad"}')
    assert "db: numbers:" in str(detail)


def test_a_query_is_read_in_parts_each_row_once(connections: Connections) -> None:
    numbers(connections, 5_000)
    ask(connections, "insert into numbers values (-9000, 'low')")
    query = SqlQuery("db", "", "select n, text from numbers where n % 2 = 0 and text not like ':%'; ", "n", 5)
    read = Read(connections, query, NUMBER)
    assert sorted(read.rows) == [(-9000, "low"), *((n, f"text {n}") for n in range(2, 5_001, 2))]
    assert read.partitions <= {f"rows:{part}" for part in range(5)} and len(read.partitions) > 1


@pytest.mark.parametrize("split", ["", "n"])
def test_a_restart_goes_on_behind_what_was_read(connections: Connections, split: str) -> None:
    numbers(connections, 60_000)
    query = SqlQuery("db", "numbers", split=split, parts=3 if split else 1)
    rows, position = list[Row](), None
    for _ in range(20):
        read = Read(connections, query, NUMBER, position, most=1)
        rows, position = rows + read.rows, read.position
    assert sorted(rows) == [(n, f"text {n}") for n in range(1, 60_001)]
    assert position["rows"] == [-1] * query.parts  # type: ignore[index]


def test_an_empty_table_ends_at_once(connections: Connections) -> None:
    ask(connections, "create table numbers (n bigint, text text)")
    for query in (SqlQuery("db", "numbers"), SqlQuery("db", "numbers", split="n", parts=4)):
        assert Read(connections, query, NUMBER).rows == []


ALL = Struct(
    (
        Field("key", Int()),
        Field("yes", Nullable(Bool())),
        Field("price", Nullable(Decimal(20, 4))),
        Field("share", Nullable(Float())),
        Field("at", Nullable(Timestamp())),
        Field("day", Nullable(Date())),
        Field("raw", Nullable(Bytes())),
        Field("who", Nullable(String()), path="id"),
        Field("tags", Nullable(List(Int()))),
        Field("counts", Nullable(Map(String(), Int()))),
        Field("city", Nullable(String()), path="place.city"),
    )
)
WANTED = [
    (
        1,
        True,
        decimal.Decimal("1234567890.1250"),
        0.1,
        1_767_323_045_000_006,
        20_455,
        b"a\xff",
        "5f0c9a1e-0000-4000-8000-0123456789ab",
        [1, 2],
        {"b": 1, "a": 2},
        "Graz",
    ),
    (2, *([None] * 10)),
]


def test_every_type_of_postgres_that_has_one(postgres: str, tmp_path: Path) -> None:
    connections = Connections(tmp_path, sql={"db": postgres})
    ask(
        connections,
        "create table t (key int primary key, yes boolean, price numeric, share double precision, at timestamptz, "
        "day date, raw bytea, id uuid, tags int[], counts jsonb, place json)",
        "insert into t values (1, true, 1234567890.125, 0.1, '2026-01-02 04:04:05.000006+01', '2026-01-02', '\\x61ff', "
        """'5f0c9a1e-0000-4000-8000-0123456789ab', '{1,2}', '{"a": 2, "b": 1}', '{"city": "Graz"}'), (2)""".replace(
            "(2)", "(2, null, null, null, null, null, null, null, null, null, null)"
        ),
    )
    assert Read(connections, SqlQuery("db", "t"), ALL).rows == WANTED
    assert Read(connections, SqlQuery("db", "public.t", split="at", parts=3), ALL).rows == WANTED
    connections.close()


PLAIN = Struct(
    (
        Field("key", Int()),
        *(Field(f"{name}_", Nullable(type_)) for name, type_ in (("int2", Int()), ("int4", Int()), ("yes", Bool()))),
        Field("price", Nullable(Decimal(12, 4))),
        Field("share", Nullable(Float())),
        *(Field(name, Nullable(String())) for name in ("words", "short")),
        *(Field(name, Nullable(Timestamp())) for name in ("at", "local")),
        Field("day", Nullable(Date())),
        Field("raw", Nullable(Bytes())),
    )
)


def test_plain_columns_of_postgres_come_whole_and_are_those_of_its_rows(
    postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = Connections(tmp_path, sql={"db": postgres})
    ask(
        connections,
        "create table t (key bigint primary key, int2_ smallint, int4_ integer, yes_ boolean, price numeric(14, 6), "
        "share double precision, words text, short varchar(9), at timestamptz, local timestamp, day date, raw bytea)",
        "insert into t select n, n, -n, n < 9, n + 0.25, 1 / n::float8, 'a ''%%' || n || ':b', null, "
        "'2026-01-02 04:04:05.000006+01', '2026-01-02 03:04:05', '0001-01-01', '\\x61ff' from generate_series(1, 99) n",
        "insert into t (key, price, at) values (101, 0.12345, null), (102, 'NaN', now()), (103, null, '10000-01-01')",
        "create table others (key bigint, share real, cents money)",
        "insert into others values (1, 0.1, 12)",
    )
    query, small = SqlQuery("db", "t", split="key", parts=2), Struct((*PLAIN.fields[:1], Field("share", Float())))
    with monkeypatch.context() as whole:
        whole.delattr(Query, "read")
        columns = Read(connections, query, PLAIN)
        with pytest.raises(AttributeError):  # a real is no float of ours, of the same digits
            Read(connections, SqlQuery("db", "others"), small)
    assert Read(connections, SqlQuery("db", "others"), small).rows == [(1, 0.1)]
    cents = Struct((*PLAIN.fields[:1], Field("cents", Int())))
    assert [letter[2] for letter in Read(connections, SqlQuery("db", "others"), cents).letters] == [
        '{"key":1,"cents":"$12.00"}'
    ]
    monkeypatch.setattr(database, "_arrow_driver", lambda: None)
    rows = Read(connections, SqlQuery("db", "", "select * from t where key < 103", "key", 2), PLAIN)
    assert sorted(columns.rows) == sorted(rows.rows) and len(rows.rows) == 99
    assert [letter[2] for letter in columns.letters][:2] == [letter[2] for letter in rows.letters]
    assert len(columns.letters) == 3
    connections.close()


def test_every_type_of_sqlite_and_texts_for_the_others(tmp_path: Path) -> None:
    connections = Connections(tmp_path, sql={"db": "sqlite:///data.db"})
    ask(
        connections,
        "create table t (key integer primary key, yes boolean, price text, share real, at text, day text, raw text, "
        "id text, tags text, counts text, place text)",
        "insert into t values (1, 1, '1234567890.125', 0.1, '2026-01-02T03:04:05.000006Z', '2026-01-02', 'Yf8=', "
        """'5f0c9a1e-0000-4000-8000-0123456789ab', '[1, 2]', '{"b": 1, "a": 2}', '{"city": "Graz"}'), """
        "(2, null, null, null, null, null, null, null, null, null, null)",
    )
    assert Read(connections, SqlQuery("db", "t"), ALL).rows == WANTED
    connections.close()


def test_a_value_of_another_type_is_a_dead_letter_and_the_others_are_exact(tmp_path: Path) -> None:
    connections = Connections(tmp_path, sql={"db": "sqlite:///data.db"})
    ask(connections, "create table t (n, text)", f"insert into t values ({2**62 + 1}, 'a'), (1.5, 'b'), ('x', 'c')")
    read = Read(connections, SqlQuery("db", "t"), NUMBER)
    assert read.rows == [(2**62 + 1, "a")]
    assert [letter[2] for letter in read.letters] == ['{"n":1.5,"text":"b"}', '{"n":"x","text":"c"}']
    connections.close()


@pytest.mark.parametrize(
    ("query", "code", "said"),
    [
        (SqlQuery("db", "missing"), "GHCM-782", "missing"),
        (SqlQuery("db", "", "select 1 as m"), "GHCM-736", '"n"'),
        (SqlQuery("db", "", "selec 1"), "GHCM-782", "syntax"),
        (SqlQuery("db", "numbers", split="text", parts=2), "GHCM-734", 'cannot be split by "text"'),
        (SqlQuery("db", "numbers", split="x", parts=2), "GHCM-782", "x"),
        (SqlQuery("nowhere", "numbers"), "GHCM-780", 'no SQL connection "nowhere"'),
    ],
)
def test_what_cannot_be_read_is_said(connections: Connections, query: SqlQuery, code: str, said: str) -> None:
    numbers(connections, 3)
    with pytest.raises(GhcmError) as refused:
        Read(connections, query, NUMBER)
    assert refused.value.code == code
    assert said in str(refused.value)
    assert refused.value.hint or refused.value.detail


def test_a_server_that_is_away_for_a_moment_is_waited_for(postgres_server: PostgresServer, tmp_path: Path) -> None:
    postgres_server.ask("postgres", "create database slow")
    connections = Connections(tmp_path, sql={"db": postgres_server.url("slow")})
    numbers(connections, 100)
    postgres_server.stop()
    back = threading.Timer(1.0, postgres_server.start)
    back.start()
    assert len(Read(connections, SqlQuery("db", "numbers"), NUMBER).rows) == 100
    back.join()
    connections.close()
