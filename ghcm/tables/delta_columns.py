"""The columns of Delta tables as ours are there, what may be added to them, and the last row of each key.

Each column says its type of the language as `ghcm.type`, for Delta lacks some: durations are integers of microseconds
there, values of enums are strings, and nulls without a type are strings that are none. Texts that divide files may be
null there, whatever the record says: the log takes an empty one for null.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pyarrow

from ghcm.errors import GhcmError
from ghcm.places import Place, readable
from ghcm.schemas.arrow import arrow_type
from ghcm.tables.partitions import folder_of
from ghcm.types import Struct, is_nullable, strip

GONE, LEAVES = "gone-", "ghcm_gone"
"""How the names of files begin whose rows are to go, and the column that says so of a row."""


def last_by_arrow(keys: Any) -> Any:
    """The place of the last row of each key in an Arrow table of keys, in order. Arrow imports pandas for it."""
    arrow = cast("Any", pyarrow)
    places = keys.append_column("@place", arrow.array(range(keys.num_rows), arrow.int64()))
    return places.group_by(keys.column_names).aggregate([("@place", "max")])["@place_max"].sort()


def last_of_each(
    files: Sequence[Place], key: Sequence[str], texts: Sequence[str], kept: Place, last_places: Callable[[Any], Any]
) -> Any:
    """The rows of Parquet files as an Arrow table, of each key the last one, with null for those of the `texts` that
    are empty, and whether they come from a file whose rows are to go; those that do not are also kept as a file.
    """
    import pyarrow.compute  # both large, and few programs need them
    import pyarrow.parquet

    arrow, compute, parquet = cast("Any", pyarrow), cast("Any", pyarrow.compute), cast("Any", pyarrow.parquet)
    tables = [parquet.ParquetFile(readable(file)).read() for file in files]
    written = arrow.concat_tables(tables)
    leaves = list[Any]()
    for file, table in zip(files, tables, strict=True):
        nothing = arrow.nulls(table.num_rows)  # of values of Python Arrow makes arrays by pandas
        leaves.append(compute.is_null(nothing) if file.name.startswith(GONE) else compute.is_valid(nothing))
    rows = written.append_column(LEAVES, arrow.chunked_array(leaves))
    for name in texts:
        column = compute.if_else(compute.equal(rows[name], ""), None, rows[name])
        rows = rows.set_column(rows.schema.get_field_index(name), name, column)
        for value in column.unique().to_pylist():
            folder_of({name: value})
    last = last_places(rows.select(list(key)))
    there = last.filter(compute.invert(rows[LEAVES].take(last).combine_chunks()))
    kept.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(kept, Path):
        parquet.write_table(written.take(there), kept)
    else:
        parquet.write_table(written.take(there), packed := arrow.BufferOutputStream())
        kept.write([packed.getvalue()])
    return rows.take(last)


def arrow_schema(columns: Struct, texts: Sequence[str] = ()) -> Any:
    """The columns as Delta tables have them, as a schema of Arrow. What is inside of others may always be null, and so
    may the `texts` that divide files.
    """
    arrow, parts = cast("Any", pyarrow), list[Any]()
    for each in columns.fields:
        said, null = {"ghcm.type": str(strip(each.type))}, is_nullable(each.type) or each.name in texts
        parts.append(arrow.field(each.name, arrow_type(each.type, stored=True), null, metadata=said))
    return arrow.schema(parts)


def lacking(path: Place, table: Any, wanted: Any) -> list[Any]:
    """The columns of a wanted schema that the schema of a table lacks. GhcmError where they differ in more than columns
    that may be null.
    """
    found, missing = {field.name: field for field in table.fields}, list[Any]()
    for field in wanted.fields:
        old, name = found.pop(field.name, None), field.name
        if old is None and not field.nullable:
            raise refused(path, f'it has no column "{name}", and its rows cannot be null there.')
        if old is None:
            missing.append(field)
        elif _form(old) != _form(field):
            raise refused(path, f'its column "{name}" is {_spelt(old)}, and that of these records {_spelt(field)}.')
        elif field.nullable and not old.nullable:
            raise refused(path, f'its column "{name}" holds no nulls, and that of these records does.')
    for name, old in found.items():
        if not old.nullable:
            raise refused(path, f'its column "{name}" cannot be null, and these records do not have it.')
    return missing


def refused(path: Place, why: str, hint: str = "") -> GhcmError:
    """A table cannot take records, and why."""
    known = "a new column has to be nullable; else write to another folder, or replace the table: mode = replace"
    message, detail = f'the table "{path}" cannot take these records', why[0].upper() + why[1:]
    return GhcmError(message, code="GHCM-734", detail=detail, hint=hint or known)


def _form(field: Any) -> tuple[str, bool]:
    """What has to be the same of a column: its type, whatever may be null inside, and whether that holds durations."""
    return json.dumps(json.loads(field.to_json())["type"]).replace(": false", ": true"), "duration" in _spelt(field)


def _spelt(field: Any) -> str:
    said = json.loads(field.to_json())
    return str(said["metadata"].get("ghcm.type") or said["type"])
