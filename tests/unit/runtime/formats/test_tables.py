"""Parquet and Arrow files: rows as the reference reads them, positions by row, columns that are missing."""

from __future__ import annotations

import math
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row, columns_of
from ghcm.runtime.formats import parquet_slices
from ghcm.runtime.formats.tables import conform, to_arrow
from ghcm.runtime.sources.files import FilesSource
from ghcm.spg.connectors import Files, Format
from ghcm.types import Decimal, Duration, Field, Float, Int, Int32, List, Map, Nullable, String, Struct, Timestamp, Type
from tests.laws.table_files import FORMS, NESTED, PLAIN, nested_table, plain_table, write
from tests.unit.runtime.formats.decoding import by_reference, drain


def source(form: str, schema: Struct, base: Path) -> FilesSource:
    return FilesSource(Files("f", Format(form.split(maxsplit=1)[0])), schema, "p", base)


def test_row_groups_are_slices_or_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_slices, "_LEAST", 100)
    monkeypatch.setattr(parquet_slices, "_BYTES", 1)

    def cut(skipped: int, *groups: int) -> list[tuple[int, int]]:
        with pq.ParquetWriter(tmp_path / "f", plain_table(1).schema) as file:
            for rows in groups:
                file.write_table(plain_table(rows))
        slices = parquet_slices.ParquetSlices.of(tmp_path / "f", "f", PLAIN)
        assert slices is not None
        return list(slices.slices(skipped))

    assert cut(0, 200, 50, 50, 30, 250, 10) == [
        (0, 200),
        (200, 300),
        (300, 330),
        (330, 413),
        (413, 496),
        (496, 580),
        (580, 590),
    ]
    assert cut(120, 60, 200, 50) == [(120, 260), (260, 310)]
    assert cut(60, 60) == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("schema", "table"), [(PLAIN, plain_table(1000)), (NESTED, nested_table())])
def test_rows_are_read_as_the_reference_reads_them(form: str, schema: Struct, table: pa.Table, tmp_path: Path) -> None:
    write(table, tmp_path / "f", form)
    rows, dead = drain(source(form, schema, tmp_path))
    expected, letters = by_reference(Format(form.split(maxsplit=1)[0]), schema, (tmp_path / "f").read_bytes())
    assert list(map(_comparable, rows)) == list(map(_comparable, expected))
    assert [(detail.split(": ")[0], text) for detail, text in dead] == [
        (detail.split(": ")[0], text) for detail, text in letters
    ]
    assert len(rows) == (1000 if schema is PLAIN else 2)


def _comparable(row: Row) -> list[object]:
    return ["nan" if isinstance(each, float) and math.isnan(each) else each for each in row]


@pytest.mark.parametrize("form", FORMS)
def test_reading_goes_on_behind_the_rows_that_were_used(form: str, tmp_path: Path) -> None:
    write(plain_table(1000), tmp_path / "f", form)
    whole, _ = drain(source(form, PLAIN, tmp_path))
    position = {"files": ["f"], "begun": {"f": [450, 450, None]}}
    rest, _ = drain(source(form, PLAIN, tmp_path), position)
    assert list(map(_comparable, rest)) == list(map(_comparable, whole[450:]))


def test_slices_that_polars_does_not_read_are_left_to_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_slices, "_LEAST", 64)
    monkeypatch.setattr(parquet_slices, "_BYTES", 1)
    arrow: Any = pa
    table: Any = plain_table(1000)
    for name, at in (("small", 70), ("sign", 500), ("ts", 999)):
        values = [None if row == at else each for row, each in enumerate(table.column(name).to_pylist())]
        column = arrow.array(values, table.schema.field(name).type)
        table = table.set_column(table.schema.get_field_index(name), name, column)
    write(table, tmp_path / "f", "parquet")
    rows, dead = drain(source("parquet", PLAIN, tmp_path))
    expected, letters = by_reference(Format("parquet"), PLAIN, (tmp_path / "f").read_bytes())
    assert list(map(_comparable, rows)) == list(map(_comparable, expected))
    assert len(rows) == 997
    assert [(detail.split(": ")[0], text) for detail, text in dead] == [
        (detail.split(": ")[0], text) for detail, text in letters
    ]
    rest, _ = drain(source("parquet", PLAIN, tmp_path), {"files": ["f"], "begun": {"f": [650, 650, None]}})
    assert list(map(_comparable, rest)) == list(map(_comparable, expected[648:]))


@pytest.mark.parametrize("form", FORMS)
def test_what_is_no_such_file_fails(form: str, tmp_path: Path) -> None:
    write(plain_table(3), tmp_path / "f", form)
    with pytest.raises(GhcmError, match=r'has no column "id\.orig"'):
        drain(source(form, Struct((Field("a", String(), "id.orig"),)), tmp_path))
    (tmp_path / "f").write_bytes(b"nonsense that is long enough")
    with pytest.raises(GhcmError, match=r'"f" is no (parquet|arrow) file|cannot read "f"'):
        drain(source(form, PLAIN, tmp_path))


def test_a_column_of_another_type_makes_dead_letters(tmp_path: Path) -> None:
    write(plain_table(3), tmp_path / "f", "parquet")
    rows, dead = drain(source("parquet", Struct((Field("s", Int()),)), tmp_path))
    assert rows == []
    assert [(detail.split(": ")[0], text) for detail, text in dead] == [
        ("f:1", '{"s":"ü0"}'),
        ("f:2", '{"s":null}'),
        ("f:3", '{"s":"ü2"}'),
    ]


_MAPS = pa.map_(pa.string(), pa.list_(pa.int64()))


@pytest.mark.parametrize(
    ("type_", "arrow", "fitting", "unfit"),
    [
        (List(Float()), pa.list_(pa.float64()), [[1.0], None, []], [2.0, None]),
        (Struct((Field("a", Int()),)), pa.struct([("a", pa.int64())]), [{"a": 1}, None], {"a": None}),
        (Map(String(), List(Int())), _MAPS, [[("k", [1])], None], [("k", [1, None])]),
        (Map(String(), List(Int())), _MAPS, [[]], [("k", None)]),
    ],
)
def test_nulls_inside_of_a_column_are_refused(
    type_: Type, arrow: pa.DataType, fitting: list[object], unfit: object
) -> None:
    columns = Struct((Field("x", Nullable(type_)),))
    assert conform(pa.table({"x": pa.array(fitting, arrow)}), columns, "f").height == len(fitting)
    with pytest.raises(GhcmError, match='"f" has nulls inside column "x"'):
        conform(pa.table({"x": pa.array([*fitting, unfit], arrow)}), columns, "f")


def test_functions_get_durations_and_delta_tables_get_integers() -> None:
    columns = Struct((Field("waited", Duration()),))
    frame = columns_of([(-(2**63),)], [("waited", Duration())])
    assert to_arrow(frame, columns)["waited"].to_pylist() == [timedelta(microseconds=-(2**63))]
    assert to_arrow(frame, columns, stored=True)["waited"].to_pylist() == [-(2**63)]


OTHER_TYPES = Struct(
    (
        Field("price", Decimal(5, 2)),
        Field("n", Int32()),
        Field("big", Int()),
        Field("at", Nullable(Timestamp())),
        Field("word", String()),
    )
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("column", [None, "price", "n", "big"])
def test_values_of_wider_types_are_those_of_the_record_where_they_fit(
    form: str, column: str | None, tmp_path: Path
) -> None:
    """By whole columns, and row by row where one of them does not fit: the same records."""
    columns = {
        "price": pa.array([150, -7, 100_000 if column == "price" else 9], pa.decimal128(15, 0)),
        "n": pa.array([-5, 2**31 - 1, 2**31 if column == "n" else 7], pa.int64()),
        "big": pa.array([0, 2**63 - 1, 2**63 if column == "big" else 7], pa.uint64()),
        "at": pa.array([1_700_000_000_123, None, -1], pa.timestamp("ms")),
        "word": pa.array(["a", "b", "a"]).dictionary_encode(),
    }
    write(pa.table(columns), tmp_path / "f", form)
    rows, dead = drain(source(form, OTHER_TYPES, tmp_path))
    expected, letters = by_reference(Format(form.split(maxsplit=1)[0]), OTHER_TYPES, (tmp_path / "f").read_bytes())
    assert rows == expected
    assert len(rows) == (2 if column else 3)
    assert [text for _, text in dead] == [text for _, text in letters]
