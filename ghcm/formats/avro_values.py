"""Values in Avro (1.12, "binary encoding") into records, one by one: for Spark's Python workers, which have no library
for it.

What reads a type is put together once for a schema. It is given the bytes and where its value begins, and gives the
value and where it ends.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ghcm.formats.avro_schema import Node, conversions, read_schema
from ghcm.types import INT_MAX, INT_MIN, Struct

_Read: TypeAlias = Callable[[bytes, int], tuple[Any, int]]

_NONE_OF_IT = "no Avro of the schema"
_OTHER_LENGTH = f"{_NONE_OF_IT}: the value is longer or shorter"


def record_reader(schema: str, element: Struct) -> Callable[[bytes], tuple[object, ...]]:
    """The function that gives the record in a value, which a schema, given as JSON, has written. It raises ValueError
    where the value is none of the schema, or does not fit the record.
    """
    node = read_schema(schema)
    read = _reader(node)
    fields = [each for each in conversions(node, element) if not isinstance(each, str)]

    def record(data: bytes) -> tuple[object, ...]:
        try:
            found, end = read(data, 0)
        except (IndexError, struct.error):
            raise ValueError(_OTHER_LENGTH) from None
        except ValueError as error:
            raise ValueError(f"{_NONE_OF_IT}: {error!r}") from None
        if end != len(data):
            raise ValueError(_OTHER_LENGTH)
        values = ((None if name is None else found[name], convert) for name, convert in fields)
        return tuple(value if convert is None else convert(value) for value, convert in values)

    return record


def _reader(node: Node) -> _Read:
    match node.kind:
        case "fixed":
            size: int = node.said["size"]
            return lambda data, at: _taken(data, at, size)
        case "enum":
            return _chosen(node.said["symbols"])
        case "union":
            return _of_union([_reader(part) for _, part in node.parts])
        case "record":
            return _record([(name, _reader(part)) for name, part in node.parts])
        case "array":
            return _items(_reader(node.parts[0][1]))
        case "map":
            entries = _items(_entry(_reader(node.parts[0][1])))
            return lambda data, at: _named(*entries(data, at))
        case kind:
            return _PRIMITIVES[kind]


def _long(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    number, shift = byte & 127, 7
    while byte > 127 and shift < 64:
        at += 1
        byte = data[at]
        number |= (byte & 127) << shift
        shift += 7
    number = (number >> 1) ^ -(number & 1)
    if byte > 127 or not INT_MIN <= number <= INT_MAX:
        raise ValueError("a number has more than 64 bits")
    return number, at + 1


def _taken(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    if not 0 <= size <= len(data) - at:
        raise IndexError
    return data[at : at + size], at + size


def _bytes(data: bytes, at: int) -> tuple[bytes, int]:
    size, at = _long(data, at)
    return _taken(data, at, size)


def _text(data: bytes, at: int) -> tuple[str, int]:
    found, at = _bytes(data, at)
    return found.decode(), at


def _number(form: str, size: int) -> _Read:
    return lambda data, at: (struct.unpack_from(form, data, at)[0], at + size)


_PRIMITIVES: dict[str, _Read] = {
    "null": lambda _, at: (None, at),
    "boolean": lambda data, at: (data[at] != 0, at + 1),
    "int": _long,
    "long": _long,
    "float": _number("<f", 4),
    "double": _number("<d", 8),
    "bytes": _bytes,
    "string": _text,
}


def _chosen(symbols: Sequence[str]) -> _Read:
    def read(data: bytes, at: int) -> tuple[str, int]:
        index, at = _long(data, at)
        return symbols[index], at

    return read


def _of_union(branches: Sequence[_Read]) -> _Read:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        index, at = _long(data, at)
        return branches[index](data, at)

    return read


def _record(parts: Sequence[tuple[str, _Read]]) -> _Read:
    def read(data: bytes, at: int) -> tuple[dict[str, Any], int]:
        found: dict[str, Any] = {}
        for name, part in parts:
            found[name], at = part(data, at)
        return found, at

    return read


def _items(item: _Read) -> _Read:
    """Blocks of items; a negative count is followed by the size of its block."""

    def read(data: bytes, at: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        while True:
            count, at = _long(data, at)
            if not count:
                return found, at
            if count < 0:
                _, at = _long(data, at)
            for _ in range(abs(count)):
                value, at = item(data, at)
                found.append(value)

    return read


def _entry(value: _Read) -> _Read:
    def read(data: bytes, at: int) -> tuple[tuple[str, Any], int]:
        name, at = _text(data, at)
        held, at = value(data, at)
        return (name, held), at

    return read


def _named(entries: list[tuple[str, Any]], at: int) -> tuple[dict[str, Any], int]:
    return dict(entries), at
