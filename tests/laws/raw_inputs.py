"""Generated inputs from outside: files of every format and compression, in one or two partitions."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.tables import to_arrow
from ghcm.spg.connectors import Files, Format
from ghcm.types import Decimal, Duration, Enumeration, Field, Nullable, String, Struct, Type, as_nullable
from tests.laws.cell_files import cell_files
from tests.laws.raw_lines import FLAT_TYPES, Lines, raw_files
from tests.laws.spg_values import rows_of, unions

__all__ = ["RawInput", "raw_inputs", "raw_lines"]

_WORDS = ("json", "json", "json", "json", "csv", "csv", "text", "cells", "cells", "parquet", "arrow")
_PACKED = (
    *[("", "ending")] * 4, (".gz", "ending"), (".zst", "ending"), (".log", "gzip"), (".gz", "zstd"), (".zst", "none"),
)  # fmt: skip
"""The ending of a file's name, and what the program says of its compression."""
_COLUMNS: tuple[Type, ...] = (*(each for each in FLAT_TYPES if not isinstance(each, Duration)), Decimal(10, 2))


@dataclass(frozen=True, slots=True)
class RawInput:
    """A source of files, the record that it declares, and the bytes of the files by name."""

    connector: Files
    element: Struct
    files: Mapping[str, bytes]


@st.composite
def raw_inputs(draw: st.DrawFn) -> RawInput:
    """Files of any format."""
    word = draw(st.sampled_from(_WORDS))
    clock = draw(st.sampled_from(["restarts", "restarts", "continues"]))
    if word in ("parquet", "arrow"):
        element, files = draw(_tables(word))
        return RawInput(Files("in/*", Format(word), clock=clock), element, files)
    format_, element, files = draw(_line_files(word))
    ending, compression = draw(st.sampled_from(_PACKED))
    kind = {".gz": "gzip", ".zst": "zstd"}.get(ending, "none") if compression == "ending" else compression
    packed = {f"{name}{ending}": _packed(data, kind) for name, data in files.items()}
    return RawInput(Files("in/*", format_, compression, clock), element, packed)


@st.composite
def raw_lines(draw: st.DrawFn) -> tuple[Format, Struct, bytes]:
    """What comes from a server, of any format of lines."""
    format_, element, files = draw(_line_files(draw(st.sampled_from(_WORDS[:9]))))
    return format_, element, files["in/a"]


@st.composite
def _line_files(draw: st.DrawFn, word: str) -> tuple[Format, Struct, dict[str, bytes]]:
    if word == "cells":
        format_, element, data = draw(cell_files(counts=(0, 3, 12)))
        return format_, element, {"in/a": data}
    element, files = draw(raw_files(cast("Lines", word)))
    return Format(word), element, files


def _packed(data: bytes, kind: str) -> bytes:
    match kind:
        case "gzip":
            return gzip.compress(data, mtime=0)
        case "zstd":
            arrow: Any = pa
            held = arrow.BufferOutputStream()
            with arrow.CompressedOutputStream(held, "zstd") as stream:
                stream.write(data)
            return cast("bytes", held.getvalue().to_pybytes())
        case _:
            return data


@st.composite
def _tables(draw: st.DrawFn, form: str) -> tuple[Struct, dict[str, bytes]]:
    """Tables whose columns may hold nulls, and texts where enums are declared, so that some rows do not fit."""
    if draw(st.integers(0, 3)) == 0:
        element = draw(unions(of=_COLUMNS))
    else:
        types = draw(st.lists(st.sampled_from(_COLUMNS), min_size=1, max_size=3))
        fields = [
            Field("abc"[place], draw(st.sampled_from([each, Nullable(each)]))) for place, each in enumerate(types)
        ]
        element = Struct(tuple(fields), "Raw")
    nulls = draw(st.booleans())
    held = Struct(tuple(Field(each.name, _held(each.type, nulls=nulls)) for each in element.fields))
    known: dict[str, list[object]] = {each.name: [*_texts(each.type)] for each in element.fields}
    files = {
        name: _written(Batch.from_rows(held, draw(rows_of(held, known=known))), form)
        for name in ("in/a", "in/b")[: draw(st.integers(1, 2))]
    }
    return element, files


def _held(type_: Type, *, nulls: bool) -> Type:
    plain = type_.of if isinstance(type_, Nullable) else type_
    column = String() if isinstance(plain, Enumeration) else plain
    return as_nullable(column) if nulls or isinstance(type_, Nullable) else column


def _texts(type_: Type) -> tuple[str, ...]:
    plain = type_.of if isinstance(type_, Nullable) else type_
    return plain.values if isinstance(plain, Enumeration) else ()


def _written(batch: Batch, form: str) -> bytes:
    table, held, arrow, parquet = to_arrow(batch.frame(), batch.schema), BytesIO(), cast("Any", pa), cast("Any", pq)
    if form == "parquet":
        parquet.write_table(table, held)
    else:
        with arrow.ipc.new_file(held, table.schema) as file:
            file.write_table(table)
    return held.getvalue()
