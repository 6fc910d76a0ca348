"""Delta tables divided by columns: other tools see those, small files do not add up, what cannot be is refused."""

from collections.abc import Sequence
from pathlib import Path

import deltalake
import duckdb
import polars as pl
import pyarrow.parquet
import pytest

from ghcm.errors import GhcmError
from ghcm.expr import Get, Lambda, MakeStruct, Var
from ghcm.runtime.data.columns import Row, columns_of
from ghcm.runtime.sinks import divided
from ghcm.runtime.sinks.sink import rows_of_call, view
from ghcm.runtime.sources.table import TableSource
from ghcm.source import Origin
from ghcm.spg.connectors import Mode, Parquet, Table
from ghcm.spg.graph import Sink
from ghcm.tables.delta import DeltaTable
from ghcm.types import Bool, Date, Enumeration, Field, Int, Nullable, String, Struct, tuple_of
from tests.redis_server import connected
from tests.tables import add, left_behind, rows_in, versions, writer_of
from tests.unit.runtime.formats.decoding import drain

SEEN = Struct(
    (
        Field("host", Nullable(String())),
        Field("n", Int()),
        Field("day", Date()),
        Field("part", Nullable(Int())),
        Field("up", Bool()),
        Field("state", Enumeration(("on", "off"))),
        Field("note", Nullable(String())),
    )
)
BY = ("day", "host", "part", "up", "state")
HOSTS = ("a/b =%20 ü", "50%+1", None, "007", "x:y?*#{a}[b]^'\"\\", ".", "\n")
ROWS: list[Row] = [
    (host, at, 20_455 + at, None if at % 2 else -at, at % 2 == 0, "off", "" if at % 3 else None)
    for at, host in enumerate(HOSTS)
]


def divided_sink(
    path: Path, columns: Struct = SEEN, by: Sequence[str] = BY, mode: Mode = Mode.APPEND, key: Sequence[str] = ()
) -> Sink:
    record = Var("r", columns)
    parts = tuple(Get(record, name, columns.fields[columns.index(name)].type) for name in key)
    body = MakeStruct(parts, tuple_of(*(part.type for part in parts))) if parts else None
    given = None if body is None else Lambda((record,), body)
    return Sink("table", Parquet(str(path), tuple(by)), mode, given, columns, Origin("test", 1, 1))


def test_every_reader_sees_all_columns_and_each_file_holds_the_others(tmp_path: Path) -> None:
    sink, path = divided_sink(tmp_path / "t"), str(tmp_path / "t")
    look, writer = view(sink, connected(tmp_path)), writer_of(sink)
    add(sink, "v1", *ROWS, writer=writer)
    assert look.snapshot(100).frame.height == len(ROWS)
    writer.write(columns_of(ROWS, [(field.name, field.type) for field in SEEN.fields]))
    writer.prepare("v2")
    writer.commit("v2")
    writer.close()
    expected = sorted([*ROWS, *ROWS], key=repr)
    assert rows_in(sink) == expected
    assert (
        rows_in(sink, "v1")
        == sorted(ROWS, key=repr)
        == sorted(rows_of_call(sink, connected(tmp_path), call="v1", limit=99).rows, key=repr)
    )
    seen = look.snapshot(100)
    assert (seen.rows, sorted(seen.frame["n"].to_list())) == (2 * len(ROWS), sorted([*range(len(ROWS))] * 2))

    rows, dead = drain(TableSource(Table("t"), SEEN, "p", tmp_path))
    assert (sorted(rows, key=repr), dead) == (expected, [])
    frames = [pl.read_delta(path), pl.DataFrame(deltalake.DeltaTable(path).to_pyarrow_table())]
    with duckdb.connect() as database:
        database.register("t", deltalake.DeltaTable(path).to_pyarrow_dataset())
        frames.append(pl.DataFrame(database.sql("select * from t").to_arrow_table()))
    for frame in frames:
        told = frame.select("host", "n", pl.col("day").to_physical(), "part", "up", "state", "note").rows()
        assert sorted(told, key=repr) == expected

    files = DeltaTable(Path(path)).live()
    assert len(files) == 2 * len(ROWS)
    assert pyarrow.parquet.read_schema(tmp_path / "t" / files[0].name).names == ["n", "note"]
    assert "day=2026-01-02/host=a%2Fb %3D%2520 ü" in files[0].name


def test_small_files_are_compacted_folder_by_folder(tmp_path: Path) -> None:
    sink = divided_sink(tmp_path / "t")
    for version in versions(6):
        add(sink, version, *ROWS)
    table = DeltaTable(tmp_path / "t")
    assert len(table.live()) == 6 * len(ROWS)
    table.tidy()
    assert len(table.live()) == len(ROWS)
    assert rows_in(sink) == sorted(ROWS * 6, key=repr)
    add(sink, versions(7)[-1], *ROWS)
    assert rows_in(sink) == sorted(ROWS * 7, key=repr)
    assert sorted(pl.read_delta(str(tmp_path / "t"))["n"].unique().to_list()) == [*range(len(ROWS))]


def test_rows_that_are_many_are_written_before_the_version_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(divided, "_ROWS", 10)
    monkeypatch.setattr(divided, "_BYTES", 500)
    columns = Struct((Field("host", String()), Field("n", Int())))
    sink = divided_sink(tmp_path / "t", columns, ["host"])
    writer = writer_of(sink)
    rows = [(f"h{n % 3}", n) for n in range(200)]
    for at in range(0, 200, 7):
        writer.write(rows[at : at + 7])
    assert len(list((tmp_path / "t" / "_ghcm").rglob("*.parquet"))) > 3
    assert (writer.pending, rows_in(sink)) == (200, [])
    assert writer.prepare("v1") == 200
    second = writer_of(sink)  # the first one dies here
    second.recover(keep={"v1"})
    for _ in range(2):
        assert second.commit("v1").rows == 200
    assert rows_in(sink) == sorted(rows, key=repr)
    second.write(rows)
    second.prepare("v2")
    second.abort("v2")
    second.close()
    assert (len(rows_in(sink)), left_behind(tmp_path)) == (200, [])


def test_an_empty_text_is_null_for_others_and_comes_back(tmp_path: Path) -> None:
    columns = Struct((Field("host", String()), Field("n", Int())))
    sink = divided_sink(tmp_path / "t", columns, ["host"])
    add(sink, "v1", ("", 1), ("a", 2))
    assert rows_in(sink) == [("", 1), ("a", 2)]
    assert pl.read_delta(str(tmp_path / "t")).sort("n")["host"].to_list() == [None, "a"]


def test_what_is_upserted_moves_between_folders(tmp_path: Path) -> None:
    columns = Struct((Field("id", Int()), Field("host", String()), Field("n", Int())))
    sink = divided_sink(tmp_path / "t", columns, ["host"], Mode.UPSERT, ["id"])
    add(sink, "v1", (1, "a", 1), (2, "b", 1), (3, "", 1), (1, "b/c", 2))
    add(sink, "v2", (2, "", 3), (3, "c", 3))
    assert rows_in(sink) == [(1, "b/c", 2), (2, "", 3), (3, "c", 3)]
    assert sorted(rows_of_call(sink, connected(tmp_path), call="v2", limit=9).rows) == [(2, "", 3), (3, "c", 3)]
    assert sorted(pl.read_delta(str(tmp_path / "t")).rows(), key=repr) == [(1, "b/c", 2), (2, None, 3), (3, "c", 3)]
    with pytest.raises(GhcmError, match="too long to divide"):
        add(sink, "v3", (4, "x" * 300, 1))

    keyed = divided_sink(tmp_path / "k", columns, ["host"], Mode.UPSERT, ["host", "id"])
    add(keyed, "v1", (1, "", 1), (1, "a", 1), (1, "", 2))
    add(keyed, "v2", (1, "", 3))
    assert rows_in(keyed) == [(1, "", 3), (1, "a", 1)]


@pytest.mark.parametrize(("mode", "key"), [(Mode.APPEND, ()), (Mode.UPSERT, ("host",))])
def test_new_columns_come_into_all_folders(mode: Mode, key: Sequence[str], tmp_path: Path) -> None:
    fields = (Field("host", String()), Field("n", Int()))
    add(divided_sink(tmp_path / "t", Struct(fields), ["host"], mode, key), "v1", ("a", 1), ("b", 1))
    wider = divided_sink(tmp_path / "t", Struct((*fields, Field("note", Nullable(String())))), ["host"], mode, key)
    add(wider, "v2", ("c", 1, "x"))
    assert rows_in(wider) == [("a", 1, None), ("b", 1, None), ("c", 1, "x")]
    assert pl.read_delta(str(tmp_path / "t")).sort("host")["note"].to_list() == [None, None, "x"]
    with pytest.raises(GhcmError, match="cannot take these records"):
        writer_of(divided_sink(tmp_path / "t", Struct((*fields, Field("size", Int()))), ["host"], mode, key))


def test_what_is_replaced_is_gone_from_all_folders(tmp_path: Path) -> None:
    sink = divided_sink(tmp_path / "t", mode=Mode.REPLACE)
    add(sink, "v1", *ROWS)
    add(sink, "v2", ROWS[0])
    assert rows_in(sink) == [ROWS[0]]
    assert rows_in(sink, "v1") == sorted(ROWS, key=repr)


@pytest.mark.parametrize("mode", [Mode.APPEND, Mode.REPLACE])
def test_another_partition_than_that_of_the_table_is_refused(mode: Mode, tmp_path: Path) -> None:
    add(divided_sink(tmp_path / "t", mode=mode), "v1", *ROWS)
    with pytest.raises(GhcmError, match="cannot take these records") as refused:
        writer_of(divided_sink(tmp_path / "t", by=["day"], mode=mode))
    assert refused.value.detail == (
        'Its files are divided by "day", "host", "part", "up", "state", and those of the sink by "day".'
    )
    with pytest.raises(GhcmError, match="cannot take these records") as refused:
        writer_of(divided_sink(tmp_path / "t", by=[], mode=mode))
    assert "and those of the sink by no column." in refused.value.detail


def test_a_value_that_is_too_long_leaves_nothing(tmp_path: Path) -> None:
    sink = divided_sink(tmp_path / "t", Struct((Field("host", String()), Field("n", Int()))), ["host"])
    with pytest.raises(GhcmError, match='a value of "host" is too long') as refused:
        add(sink, "v1", ("a", 1), ("ü" * 50, 2))
    assert refused.value.code == "GHCM-734"
    assert left_behind(tmp_path) == []
