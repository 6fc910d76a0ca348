"""JSON lines: one object a line, fields by path: a key that is spelt like the whole path first, then nested objects."""

from __future__ import annotations

import json
from typing import NoReturn, cast

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.chunks import BadRecord, Chunk, Letters, count_lines, texts_of
from ghcm.runtime.formats.fields import MISSING, from_json_field, look_up
from ghcm.runtime.formats.schemas import union_check
from ghcm.types import Struct
from ghcm.values import Json, WrittenFloat, has_decimal


class JsonLines:
    """One object a line, fields by path."""

    def __init__(self, schema: Struct) -> None:
        self._schema = schema
        self._check = union_check(schema)
        written = WrittenFloat if has_decimal(schema) else None
        self._scan = json.JSONDecoder(parse_constant=_no_constant, parse_float=written).raw_decode
        tags = dict(schema.cases)
        self._fields = [
            (path, "." not in path, from_json_field(field.type), tags.get(field.name))
            for field in schema.fields
            for path in [field.path or field.name]
        ]

    def save(self) -> object:
        """Nothing."""
        return None

    def begin(self, saved: object) -> None:
        """Nothing to do."""

    def decode(self, chunk: Chunk, letters: Letters) -> tuple[Batch, int, int]:
        """As `Decoder.decode`."""
        rows: list[Row] = []
        for number, text in texts_of(chunk, letters):
            bare = text.strip(" \t\r\n")
            if not bare:
                continue
            try:
                rows.append(self._record(bare))
            except ValueError as error:
                letters(BadRecord, f"{chunk.file}:{number}: {error}", text)
        return Batch.from_rows(self._schema, rows, partition=chunk.partition), len(chunk.data), count_lines(chunk.data)

    def _record(self, text: str) -> Row:
        try:
            found, end = self._scan(text)
        except json.JSONDecodeError:
            raise ValueError("no JSON") from None
        except RecursionError:
            raise ValueError("the JSON text is nested too deeply") from None
        if end != len(text):
            raise ValueError("no JSON: there is more behind the value")
        if not isinstance(found, dict):
            raise ValueError("no JSON object")
        record = cast("dict[str, Json]", found)
        row: list[object] = []
        try:
            for path, flat, read, tags in self._fields:
                if tags is not None and row[0] not in tags:  # a field of another record of the union
                    row.append(None)
                    continue
                data = record.get(path, MISSING)
                row.append(read(data if flat or data is not MISSING else look_up(record, path)))
        except ValueError as error:
            raise ValueError(f'field "{self._schema.names[len(row)]}": {error}') from None
        made = tuple(row)
        if self._check is not None:
            self._check(made)
        return made


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"no JSON: {name}")
