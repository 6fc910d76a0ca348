"""Delta tables as sources: rows of a version by the types of the table, then what each commit adds, each once."""

from __future__ import annotations

import datetime
import json
import os
from decimal import Decimal as Exact
from pathlib import Path
from threading import Event
from typing import Any, cast

import deltalake
import polars as pl
import pyarrow as pa
import pytest

from ghcm.errors import GhcmError
from ghcm.places import Place, delta_place
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats import tables
from ghcm.runtime.sources.table import TableSource
from ghcm.spg.connectors import Table
from ghcm.tables import reading
from ghcm.types import (
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Enumeration,
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
)
from tests.delta_logs import commit, delete_rows
from tests.tables import add, sink_of, versions, writer_of
from tests.unit.runtime.formats.decoding import Letters, drain
from tests.unit.runtime.sources.table_reader import WORD, Follower, put
from tests.unit.tables.test_delta import MANY, many


def rows_of(base: Path, record: Struct = WORD, **options: Any) -> tuple[list[Row], Letters]:
    return drain(TableSource(Table("t", **options), record, "p", base))


def refusal(base: Path, record: Struct = WORD, **options: Any) -> GhcmError:
    with pytest.raises(GhcmError) as refused:
        rows_of(base, record, **options)
    return refused.value


def test_every_type_of_our_own_tables_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = sink_of(tmp_path / "t", columns=MANY)
    writer = writer_of(sink)
    for at, version in enumerate(versions(3)):
        add(sink, version, *(many(number) for number in range(at * 2, at * 2 + 2)), writer=writer)
    writer.close()
    monkeypatch.setattr(tables, "table_rows", None)  # no row is looked at by itself
    assert rows_of(tmp_path, MANY) == ([many(number) for number in range(6)], [])


def test_a_record_names_some_columns_and_they_may_be_narrower(tmp_path: Path) -> None:
    columns: dict[str, Any] = {
        "small": pa.array([1, -2], pa.int8()),
        "half": pa.array([0.5, None], pa.float32()),
        "price": pa.array([Exact("1.5"), None], pa.decimal128(4, 1)),
        "when": pa.array([datetime.datetime(2026, 1, 2, 3), None], pa.timestamp("us")),
        "inner": pa.array([{"a": 1, "more": "x", "b": True}, None]),
        "tags": pa.array([["a", None], []], pa.list_(pa.string())),
        "raw": pa.array([b"\0\xff", b""]),
        "not asked for": pa.array([1, 2]),
    }
    deltalake.write_deltalake(str(tmp_path / "t"), pa.table(columns))
    inner = Struct((Field("a", Nullable(Int())), Field("b", Nullable(Bool()))))
    record = Struct(
        (
            Field("raw", Bytes()),
            Field("n", Int(), "small"),
            Field("half", Nullable(Float())),
            Field("price", Nullable(Decimal(8, 3))),
            Field("when", Nullable(Timestamp())),
            Field("inner", Nullable(inner)),
            Field("tags", List(Nullable(String()))),
            Field("absent", Nullable(String())),
        )
    )
    first = (b"\0\xff", 1, 0.5, Exact("1.500"), 1_767_322_800_000_000, (1, True), ["a", None], None)
    assert rows_of(tmp_path, record) == ([first, (b"", -2, None, None, None, None, [], None)], [])


PARTITIONED = Struct(
    (
        Field("n", Int()),
        Field("day", Nullable(Date())),
        Field("at", Nullable(Timestamp())),
        Field("name", Nullable(String())),
        Field("ok", Nullable(Bool())),
        Field("price", Nullable(Decimal(6, 2))),
        Field("part", Nullable(Int())),
    )
)


def partitioned(base: Place) -> list[Row]:
    """A table that is divided by columns of many types; what it holds."""
    uri, *options = delta_place(base / "t").values()
    day, at = datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=datetime.UTC)
    values = {
        "n": pa.array([1, 2, 3], pa.int64()),
        "day": pa.array([day, None, day], pa.date32()),
        "at": pa.array([at, None, at], pa.timestamp("us", "UTC")),
        "name": pa.array(["a/b =%20 ü", None, "x"]),
        "ok": pa.array([True, None, False]),
        "price": pa.array([Exact("1.50"), None, Exact("-2.00")], pa.decimal128(6, 2)),
        "part": pa.array([7, None, -7], pa.int16()),
    }
    by = ["day", "at", "name", "ok", "price", "part"]
    deltalake.write_deltalake(uri, pa.table(values), partition_by=by, storage_options=next(iter(options), None))
    micros, days = 1_767_323_045_000_006, 20_455
    return [
        (1, days, micros, "a/b =%20 ü", True, Exact("1.50"), 7),
        (2, None, None, None, None, None, None),
        (3, days, micros, "x", False, Exact("-2.00"), -7),
    ]


def test_columns_of_partitions_have_the_values_of_the_log(tmp_path: Path) -> None:
    expected = partitioned(tmp_path)
    rows, dead = rows_of(tmp_path, PARTITIONED)
    assert (sorted(rows, key=lambda row: cast("int", row[0])), dead) == (expected, [])
    followed = Follower(tmp_path, record=PARTITIONED)
    followed.until(3)
    added = deltalake.DeltaTable(str(tmp_path / "t")).to_pyarrow_table().slice(0, 1)
    deltalake.write_deltalake(str(tmp_path / "t"), added, mode="append")
    assert followed.until(4)[3] in expected
    followed.source.close()


def test_a_version_or_a_time_is_read(tmp_path: Path) -> None:
    for number in range(3):
        put(tmp_path, ("a", number))
    log = tmp_path / "t" / "_delta_log"
    assert rows_of(tmp_path, version=1)[0] == [("a", 0), ("a", 1)]
    times = [each["timestamp"] for each in deltalake.DeltaTable(str(tmp_path / "t")).history()][::-1]
    os.utime(log / f"{1:020d}.json", (times[1] / 1000 + 5, times[1] / 1000 + 5))  # as on a busy machine
    assert rows_of(tmp_path, time_us=times[1] * 1000 + 999)[0] == [("a", 0), ("a", 1)]
    assert len(rows_of(tmp_path, time_us=times[2] * 1000 + 10_000_000)[0]) == 3
    assert refusal(tmp_path, version=3).code == "GHCM-732"
    early = refusal(tmp_path, time_us=times[0] * 1000 - 10_000_000)
    assert (early.code, len(list(log.glob("*.json")))) == ("GHCM-732", 3)


def test_what_is_no_record_is_a_dead_letter(tmp_path: Path) -> None:
    columns = {"a": [1, None, 3], "sign": ["+", "-", "*"]}
    deltalake.write_deltalake(str(tmp_path / "t"), pa.table(columns))
    record = Struct((Field("a", Int()), Field("sign", Enumeration(("+", "-")))))
    rows, dead = rows_of(tmp_path, record)
    assert rows == [(1, "+")]
    assert [json.loads(text) for _, text in dead] == [{"a": None, "sign": "-"}, {"a": 3, "sign": "*"}]
    assert [detail.split(":", 1)[1] for detail, _ in dead] == [
        '2: field "a": expected int, found null',
        '3: field "sign": expected one of "+", "-", found "*"',
    ]


def test_deleted_rows_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_ROWS", 3)
    put(tmp_path, *((f"w{number}", number) for number in range(10)))
    delete_rows(tmp_path / "t", [1, 5, 9])
    rows, _ = rows_of(tmp_path)
    assert [row[1] for row in rows] == [0, 2, 3, 4, 6, 7, 8]
    assert [row[1] for row in rows_of(tmp_path, version=0)[0]] == list(range(10))


TIMED = Struct((Field("word", String()), Field("count", Duration())))


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (Struct((Field("wrod", String()),)), 'it has no column "wrod"'),
        (Struct((Field("word", Int()),)), 'its column "word" is "string"'),
        (TIMED, 'its column "count" is "int"'),
        (Struct((Field("count", Int32()),)), 'its column "count" is "int"'),
        (Struct((Field("word", List(String())),)), 'its column "word" is "string"'),
        (Struct((Field("word", Map(String(), Int())),)), 'its column "word" is "string"'),
    ],
)
def test_a_record_that_does_not_fit_is_refused(record: Struct, said: str, tmp_path: Path) -> None:
    put(tmp_path, ("a", 1))
    refused = refusal(tmp_path, record)
    assert (refused.code, refused.message) == ("GHCM-736", f'cannot read table "t": {said}')
    assert refused.hint


def test_what_is_no_table_is_named(tmp_path: Path) -> None:
    assert 'cannot read table "t": there is no Delta table' in str(refusal(tmp_path))
    (tmp_path / "t").mkdir()
    pl.DataFrame({"word": ["a"]}).write_parquet(tmp_path / "t" / "a.parquet")
    assert refusal(tmp_path).hint == 'its files can be read as they are: files("t/*.parquet").'


def test_tables_that_need_another_reader_are_refused(tmp_path: Path) -> None:
    put(tmp_path, ("a", 1), configuration={"delta.columnMapping.mode": "none"})
    schema = json.loads(deltalake.DeltaTable(str(tmp_path / "t")).schema().to_json())
    for number, field in enumerate(schema["fields"], 1):
        mapped = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        field["metadata"] = mapped
    meta = {"id": "x", "format": {"provider": "parquet", "options": {}}, "schemaString": json.dumps(schema)}
    mode = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    commit(
        tmp_path / "t",
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
        {"metaData": {**meta, "partitionColumns": [], "configuration": mode}},
    )
    refused = refusal(tmp_path)
    assert (refused.code, "columnMapping" in refused.detail) == ("GHCM-736", True)


def test_a_file_that_is_gone_or_broken_is_named(tmp_path: Path) -> None:
    put(tmp_path, ("a", 1))
    [file] = (tmp_path / "t").glob("*.parquet")
    file.write_bytes(b"PAR1")
    assert file.name in str(refusal(tmp_path))
    file.unlink()
    assert file.name in str(refusal(tmp_path))


def test_a_restart_at_any_position_goes_on_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_ROWS", 2)
    properties = deltalake.WriterProperties(max_row_group_size=3)
    for start in (0, 7, 14):
        put(tmp_path, *((f"w{n}", n) for n in range(start, start + 7)), writer_properties=properties)
    whole, _ = rows_of(tmp_path)
    assert [row[1] for row in whole] == list(range(21))
    woken, source, seen, given = Event(), TableSource(Table("t"), WORD, "p", tmp_path), [], 0
    source.open(None, woken.set)
    while not source.ended:
        woken.clear()
        batch = source.poll(100, lambda *_: None)
        if batch is None and not source.ended:
            woken.wait(60)
        given += 0 if batch is None else len(batch)
        seen.append((json.loads(json.dumps(source.position())), given))
    put(tmp_path, ("later", 99))  # which is in no version that was begun
    for position, count in seen:
        if position is not None:
            rest, _ = drain(TableSource(Table("t"), WORD, "p", tmp_path), position)
            assert rest == whole[count:]
    assert len({count for _, count in seen}) > 8
