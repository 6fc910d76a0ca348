"""Parquet and Arrow files in the reference: rows as the JSON objects of the same content."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, cast

import pyarrow as pa
from pyarrow import ipc, parquet

from ghcm.errors import GhcmError, suggest
from ghcm.types import Struct, is_nullable
from ghcm.values import WrittenFloat


def rows_of(data: bytes, file: str, format_: str, element: Struct) -> list[dict[str, Any]]:
    """The rows with the columns that the record names. GhcmError where one is missing."""
    table: Any = _table(data, format_)
    known = list(_paths(table.schema))
    wanted = [field.path or field.name for field in element.fields]
    for path, field in zip(wanted, element.fields, strict=True):
        if path not in known and not is_nullable(field.type):
            raise GhcmError(f'cannot read "{file}": it has no column "{path}"', hint=suggest(path, known))
    chosen = [
        name for name in table.column_names if any(path == name or path.startswith(name + ".") for path in wanted)
    ]
    return [{name: said(value) for name, value in row.items()} for row in table.select(chosen).to_pylist()]


def _table(data: bytes, format_: str) -> Any:
    arrow: Any = pa
    tables: Any = parquet
    if format_ == "parquet":
        return tables.read_table(arrow.BufferReader(data), coerce_int96_timestamp_unit="us")
    if data.startswith(b"ARROW1"):
        return ipc.open_file(data).read_all()
    return ipc.open_stream(data).read_all()


def _paths(fields: Any, before: str = "") -> Iterator[str]:
    for field in fields:
        yield before + field.name
        if isinstance(field.type, pa.StructType):
            yield from _paths(list(field.type), f"{before}{field.name}.")


def said(value: object) -> object:
    """A value as JSON says it."""
    if isinstance(value, dict):
        return {name: said(part) for name, part in cast("dict[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [said(part) for part in cast("list[object]", value)]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, float) and math.isfinite(value):
        return WrittenFloat(repr(value))  # as the JSON object of the same content would be read
    return f"{value:f}" if isinstance(value, Decimal) else value


def spelt(value: object) -> object:
    """The value with what JSON has no numbers for as text."""
    if isinstance(value, dict):
        return {name: spelt(part) for name, part in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [spelt(part) for part in cast("list[object]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
