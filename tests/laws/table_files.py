"""Tables of every Arrow type as Parquet and Arrow files, with rows that fit the record and rows that do not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal as Exact
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

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

__all__ = ["FORMS", "NESTED", "PLAIN", "nested_table", "plain_table", "write"]

FORMS = ("parquet", "arrow file", "arrow stream")
PLAIN = Struct(
    (
        Field("at", Timestamp(), "ts"),
        Field("n", Nullable(Int())),
        Field("small", Int32()),
        Field("x", Float()),
        Field("s", Nullable(String())),
        Field("ok", Bool()),
        Field("raw", Bytes()),
        Field("day", Nullable(Date())),
        Field("sign", Enumeration(("+", "-"))),
        Field("absent", Nullable(String())),
    )
)
NESTED = Struct(
    (
        Field("at", Timestamp()),
        Field("src", String(), "id.orig_h"),
        Field("big", Nullable(Int())),
        Field("x", Float()),
        Field("tags", Nullable(List(Nullable(String())))),
        Field("inner", Nullable(Struct((Field("a", Int()), Field("b", Nullable(Float()), "c"))))),
        Field("took", Nullable(Duration())),
        Field("cost", Nullable(Decimal(6, 2))),
        Field("by", Nullable(Map(String(), Int()))),
        Field("text", Nullable(Enumeration(("one", "three")))),
    )
)


def plain_table(rows: int) -> pa.Table:
    """Columns whose types are those of `PLAIN`, and one more."""
    arrow: Any = pa
    numbers = range(rows)
    columns: dict[str, Any] = {
        "more": arrow.array(["x"] * rows),
        "ts": arrow.array([1_500_000 * each - 7 for each in numbers], arrow.timestamp("us")),
        "n": arrow.array([None if each % 3 else each for each in numbers], arrow.int16()),
        "small": arrow.array([each % 100 for each in numbers], arrow.uint8()),
        "x": arrow.array([each / 7 if each % 5 else float("nan") for each in numbers], arrow.float64()),
        "s": arrow.array([None if each % 4 == 1 else f"ü{each}" for each in numbers], arrow.large_string()),
        "sign": arrow.array(["+" if each % 2 else "-" for each in numbers]),
        "ok": arrow.array([each % 2 == 0 for each in numbers]),
        "raw": arrow.array([bytes([each % 256]) for each in numbers]),
        "day": arrow.array([None if each % 2 else each for each in numbers], arrow.date32()),
    }
    made: pa.Table = arrow.table(columns)
    return made


def nested_table() -> pa.Table:
    """Rows that have to be looked at one by one; the last of them do not fit `NESTED`."""
    arrow: Any = pa
    at = [datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)] * 7
    schema = arrow.schema(
        [
            ("at", arrow.timestamp("ns", "Europe/Berlin")),
            ("id", arrow.struct([("orig_h", arrow.string())])),
            ("big", arrow.uint64()),
            ("x", arrow.float32()),
            ("tags", arrow.list_(arrow.string())),
            ("inner", arrow.struct([("a", arrow.int64()), ("c", arrow.float64())])),
            ("took", arrow.duration("ms")),
            ("cost", arrow.decimal128(6, 2)),
            ("by", arrow.map_(arrow.string(), arrow.int64())),
            ("text", arrow.dictionary(arrow.int8(), arrow.string())),
        ]
    )
    hosts = [
        {"orig_h": "a"},
        {"orig_h": "b"},
        {"orig_h": None},
        None,
        {"orig_h": "e"},
        {"orig_h": "f"},
        {"orig_h": "g"},
    ]
    columns = [
        at,
        hosts,
        [1, None, 1, 1, 2**63, 2, 3],
        [0.5, float("nan"), 1, 1, 1, None, float("-inf")],
        [["a", None], None, [], [], [], [], ["z"]],
        [{"a": 1, "c": 1.5}, None, None, None, None, None, {"a": None, "c": 1.0}],
        [timedelta(milliseconds=-1), None, None, None, None, None, None],
        [Exact("1234.50"), None, None, None, None, None, None],
        [[("k", 1), ("l", 2)], [], None, None, None, None, None],
        ["one", None, "one", "two", None, None, None],
    ]
    arrays = [arrow.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    made: pa.Table = arrow.Table.from_arrays(arrays, schema=schema)
    return made


def write(table: pa.Table, path: Path, form: str) -> None:
    """The table as a file of this form, in several row groups or batches."""
    arrow: Any = pa
    if form == "parquet":
        writer: Any = pq
        writer.write_table(table, path, row_group_size=300)
        return
    make = arrow.ipc.new_file if form == "arrow file" else arrow.ipc.new_stream
    with make(str(path), table.schema) as out:
        out.write_table(table, max_chunksize=300)
