"""Rows of databases as records: a row is read as the JSON object of the same content would be, whose fields are its
columns. Nested ones are texts of JSON.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from datetime import time as clock
from decimal import Decimal
from types import NoneType
from typing import Any

from ghcm.formats.records import Row, column_indices, json_parser, object_reader
from ghcm.formats.tables import read_row, said
from ghcm.types import Bool, Field, List, Map, String, Struct, strip
from ghcm.values import Json, has_decimal

_SAID = (str, int, float, bytes, Decimal, date, clock, timedelta, list, dict, NoneType)
"""What drivers give that JSON has words for; anything else, as a UUID, is its text."""


class DatabaseRows:
    """Reads rows as records of a schema."""

    def __init__(self, schema: Struct) -> None:
        self._fields = {field.path or field.name: field for field in schema.fields}
        self._schema = schema
        self._read, self._parse = object_reader(schema), json_parser(written=has_decimal(schema))

    def choose(self, name: str, header: Sequence[str]) -> Mapping[str, bool]:
        """The columns that hold fields of the record, and whether they are nested. GhcmError where one lacks in what
        has this name.
        """
        inside = [path for path in self._fields if path not in header and path.partition(".")[0] in header]
        column_indices(name, [*header, *inside], self._schema)
        chosen = {path if path in header else path.partition(".")[0] for path in self._fields}
        return {column: self.nested(column) for column in header if column in chosen}

    def field(self, column: str) -> Field | None:
        """The field that a column holds; None where it holds several."""
        return self._fields.get(column)

    def nested(self, column: str) -> bool:
        """Whether a column holds more than single values."""
        field = self._fields.get(column)
        return field is None or isinstance(strip(field.type), Struct | List | Map)

    def values(self, column: str, found: Sequence[Any]) -> Sequence[Any]:
        """The values as their field has them, where the driver has types of its own for them."""
        field = self._fields.get(column)
        type_ = None if field is None else strip(field.type)
        if isinstance(type_, Bool) and set(found) <= {0, 1, None}:
            return [None if value is None else bool(value) for value in found]
        if isinstance(type_, String) and not set(map(type, found)) <= {str, NoneType}:
            return [value if isinstance(value, _SAID) else str(value) for value in found]
        return found

    def record(self, names: Sequence[str], values: Row) -> tuple[Row | None, str | None, str | None]:
        """The record of a row, or its text and why it is none."""
        record: dict[str, Json] = {}
        try:
            for name, value in zip(names, values, strict=True):
                text = isinstance(value, str) and self.nested(name)
                record[name] = self._parse(f'{{"":{value}}}')[""] if text else said(value)
        except (ValueError, OverflowError) as error:
            return None, str(values), str(error)
        return read_row(record, self._read)
