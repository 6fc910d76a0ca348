"""Delta tables in the reference: file by file, in the order in which the files were added, each row as JSON of the same
content.

A table that is followed is read as it is now, which is what it began with and what its commits have added since, as
long as none of them removed rows.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet

from ghcm import types
from ghcm.errors import GhcmError
from ghcm.places import delta_place, place, readable
from ghcm.spg.connectors import Table
from ghcm.spg.reference.decoding import Bad, from_rows
from ghcm.spg.reference.json_records import check_columns, said
from ghcm.types import Struct, strip


def records_of(connector: Table, base: Path, element: Struct) -> Iterator[tuple[object, ...] | Bad]:
    """The records of a table. GhcmError where it lacks a column that the record needs."""
    import deltalake

    parquet: Any = pyarrow.parquet
    folder, wanted = place(base, connector.path), {field.path or field.name: field.type for field in element.fields}
    table: Any = deltalake.DeltaTable(**delta_place(folder), version=None if connector.follow else connector.version)
    if connector.time_us is not None and not connector.follow:
        table.load_as_version(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=connector.time_us))
    if "deletionVectors" in (table.protocol().reader_features or ()):
        raise GhcmError(f'the reference does not read table "{connector.path}": it has deletion vectors')
    names, divided = [field.name for field in table.schema().fields], table.metadata().partition_columns
    check_columns(connector.path, names, element)
    adds = cast("Any", pa).table(table.get_add_actions()).to_pylist()
    for add in sorted(adds, key=lambda each: (each["modification_time"], each["path"])):
        file = unquote(add["path"])
        rows = parquet.read_table(
            readable(folder / file), partitioning=None, coerce_int96_timestamp_unit="us"
        ).to_pylist()
        fixed = {name: add["partition"][name] for name in divided}
        whole = ({**{name: row.get(name) for name in names}, **fixed} for row in rows)
        chosen = ({name: row[name] for name in names if name in wanted} for row in whole)
        stated = ({name: said(_timed(value, wanted[name])) for name, value in row.items()} for row in chosen)
        yield from from_rows(stated, file, element)


def _timed(value: Any, type_: types.Type) -> Any:
    """The value with integers as durations, which Delta tables lack, and of structs what the type has."""
    match strip(type_):
        case types.Duration() if isinstance(value, int):
            return timedelta(microseconds=value)
        case types.List(item=item) if value is not None:
            return [_timed(each, item) for each in value]
        case types.Map(key=key, value=held) if value is not None:
            return [(_timed(name, key), _timed(each, held)) for name, each in value]
        case types.Struct(fields=fields) if value is not None:
            return {field.name: _timed(value.get(field.name), field.type) for field in fields}
        case _:  # a type that holds no others
            return value
