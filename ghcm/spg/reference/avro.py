"""Values of messages in Avro into records, byte by byte as the specification says (1.12, "binary encoding")."""

import struct
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import cast

from ghcm import types
from ghcm.formats.avro_schema import Node, read_schema


def record_of(data: bytes, schema: str, schema_id: int | None, element: types.Struct) -> tuple[object, ...]:
    """The record of one value. ValueError where it is none of the schema."""
    if schema_id is not None:
        if data[:5] != struct.pack(">bI", 0, schema_id):
            raise ValueError(f"the value is not of schema {schema_id} of the registry")
        data = data[5:]
    node, bytes_ = read_schema(schema), _Bytes(data)
    try:
        value = bytes_.value(node)
    except IndexError:
        raise ValueError("the schema has no such branch or symbol") from None
    if bytes_.data:
        raise ValueError("the value is longer than the schema says")
    return cast("tuple[object, ...]", _canonical(value, node, element))


@dataclass
class _Bytes:
    """What is left of a value."""

    data: bytes

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.data):
            raise ValueError("the value is shorter than the schema says")
        taken, self.data = self.data[:size], self.data[size:]
        return taken

    def long(self) -> int:
        number = shift = 0
        while True:
            (byte,) = self.take(1)
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return (number >> 1) ^ -(number & 1)

    def value(self, node: Node) -> object:
        """The value of a type: numbers, texts and bytes, lists, and dicts of maps and records."""
        match node.kind:
            case "null":
                return None
            case "boolean":
                return self.take(1) != b"\0"
            case "int" | "long":
                return self.long()
            case "float":
                return struct.unpack("<f", self.take(4))[0]
            case "double":
                return struct.unpack("<d", self.take(8))[0]
            case "bytes":
                return self.take(self.long())
            case "string":
                return self.take(self.long()).decode()
            case "fixed":
                return self.take(node.said["size"])
            case "enum":
                return node.said["symbols"][self.long()]
            case "union":
                return self.value(node.parts[self.long()][1])
            case "record":
                return {name: self.value(part) for name, part in node.parts}
            case _:
                return self.items(node)

    def items(self, node: Node) -> object:
        """Blocks of items, or of names and items; a negative count is followed by the size of its block."""
        found: list[tuple[str, object]] = []
        while count := self.long():
            if count < 0:
                self.long()
            for _ in range(abs(count)):
                name = self.take(self.long()).decode() if node.kind == "map" else ""
                found.append((name, self.value(node.parts[0][1])))
        return dict(found) if node.kind == "map" else [value for _, value in found]


def _canonical(value: object, node: Node, type_: types.Type) -> object:
    if node.kind == "union":
        if value is None:
            return None
        (node,) = [part for _, part in node.parts if part.kind != "null"]
    plain, logical = types.strip(type_), node.said.get("logicalType")
    match plain:
        case types.Struct(fields=fields):
            data, parts = cast("dict[str, object]", value), dict(node.parts)
            names = [(field.path or field.name, field.type) for field in fields]
            return tuple(_canonical(data[name], parts[name], of) if name in data else None for name, of in names)
        case types.List(item=item):
            return [_canonical(each, node.parts[0][1], item) for each in cast("list[object]", value)]
        case types.Map(value=held):
            data = cast("dict[str, object]", value)
            return {name: _canonical(each, node.parts[0][1], held) for name, each in data.items()}
        case types.Decimal():
            number, most = int.from_bytes(cast("bytes", value), "big", signed=True), 10 ** node.said["precision"]
            return Decimal(_within(number, -most, most)).scaleb(-plain.scale, Context(100))
        case types.Timestamp() if logical == "timestamp-millis":
            return _within(cast("int", value) * 1000, types.INT_MIN - 1, types.INT_MAX + 1)
        case types.Int32() | types.Date():
            return _within(cast("int", value), -(2**31) - 1, 2**31)
        case _:  # the rest is what it is
            return value


def _within(number: int, above: int, below: int) -> int:
    if not above < number < below:
        raise ValueError("the number does not fit")
    return number
