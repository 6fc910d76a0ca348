"""How a row stands in a keyed place: a field named by its key, with the row as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import polars as pl

from ghcm.errors import GhcmError
from ghcm.runtime.data.columns import Row, rows_of
from ghcm.runtime.sinks.sink_writer import KeyOf
from ghcm.types import Struct, Type
from ghcm.values import Json, key_text, own_writer, reader


class KeyedForm:
    """Rows of `columns` as field and value; `key` gives the canonical key, of type `key_type`."""

    def __init__(self, columns: Struct, key: KeyOf, key_type: Type) -> None:
        self._columns = columns
        self._key = key
        self._key_type = key_type
        self._to_json = own_writer(columns)
        self._encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode

    def pairs(self, rows: Sequence[Row] | pl.DataFrame) -> Iterator[tuple[str, str]]:
        """Field and value of each row, in order."""
        if isinstance(rows, pl.DataFrame):
            rows = rows_of(rows, [(field.name, field.type) for field in self._columns.fields])
        for row in rows:
            yield key_text(self._key(row), self._key_type), self._encode(self._to_json(row))


def row_reader(columns: Struct, place: str) -> Callable[[bytes | str], Row]:
    """The function that gives a row back from its JSON; GhcmError names the place if it does not fit."""
    decode = reader(columns)

    def read(text: bytes | str) -> Row:
        try:
            return cast("Row", decode(cast("Json", json.loads(text))))
        except ValueError as error:
            message = f'"{place}" holds a row that does not fit the sink\'s record'
            hint = "it was written by another version of the program: use another place, or clear this one"
            raise GhcmError(message, code="GHCM-733", detail=str(error), hint=hint) from error

    return read
