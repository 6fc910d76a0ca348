"""Values of messages in Avro as columns, by whole blocks: the values are decoded as one array, in which a mark that
nobody can guess stands behind each.

Nothing but its schema says where a value ends. One that is longer or shorter has no mark at its end, or leaves none for
the last one, so that no value takes anything of its neighbours.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from io import BytesIO
from operator import itemgetter
from typing import Any, cast

import fastavro

from ghcm.formats.avro_schema import conversions, read_schema, registry_head
from ghcm.types import Struct

_read: Callable[[BytesIO, Any, None], list[dict[str, Any]]] = cast("Any", fastavro).schemaless_reader
_MARK = secrets.token_bytes(16)


class AvroValues:
    """Decodes values that a schema, given as JSON, has written; with `schema_id` those behind the header of a schema
    registry that names this schema.
    """

    def __init__(self, schema: str, schema_id: int | None, element: Struct) -> None:
        self.head = registry_head(schema_id)
        """With what each value has to begin."""
        head = [{"name": "head", "type": {"type": "fixed", "name": "ghcm__head", "size": 5}}] if self.head else []
        mark = {"name": "mark", "type": {"type": "fixed", "name": "ghcm__mark", "size": len(_MARK)}}
        fields = [*head, {"name": "value", "type": _plain(json.loads(schema))}, mark]
        items = {"type": "record", "name": "ghcm__message", "fields": fields}
        self._schema = fastavro.parse_schema({"type": "array", "items": items})
        found = list(conversions(read_schema(schema), element))
        self._fields = [each for each in found if not isinstance(each, str)]

    def columns(self, values: Sequence[bytes]) -> list[list[object]]:
        """The canonical values of each field, of values that begin with `head`. ValueError where one is none of the
        schema.
        """
        stream = BytesIO(b"".join([_long(len(values)), _MARK.join(values), _MARK, b"\0"]))
        try:
            found = _read(stream, self._schema, None)
        except Exception as error:
            raise ValueError(f"no Avro of the schema: {error!r}") from None
        if stream.read(1) or len(found) != len(values) or {*map(itemgetter("mark"), found)} - {_MARK}:
            raise ValueError("no Avro of the schema: the value is longer or shorter")
        records = list(map(itemgetter("value"), found))
        columns: list[list[object]] = []
        for name, convert in self._fields:
            column: list[object] = [None] * len(records) if name is None else list(map(itemgetter(name), records))
            columns.append(column if convert is None else list(map(convert, column)))
        return columns


def _plain(said: Any) -> Any:
    """The schema without its logical types, so that values are those of Avro itself."""
    if isinstance(said, dict):
        kept = cast("dict[str, Any]", said)
        return {name: _plain(each) for name, each in kept.items() if name not in ("logicalType", "default")}
    return [_plain(each) for each in cast("Sequence[Any]", said)] if isinstance(said, list) else said


def _long(number: int) -> bytes:
    """A number that is not negative as Avro has it."""
    rest, found = number << 1, bytearray()
    while rest > 127:
        found.append(rest & 127 | 128)
        rest >>= 7
    found.append(rest)
    return bytes(found)
