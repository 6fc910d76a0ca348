"""Schemas of Avro (1.12): what one says, and how its values become those of a record's fields.

Values are those of Avro's own types; what a logical type makes of them is done here. Decoding is the matter of whoever
has the bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any, TypeAlias, cast

from ghcm import types
from ghcm.errors import listed
from ghcm.types import INT_MAX, INT_MIN, Struct, Type, is_nullable, strip

Convert: TypeAlias = Callable[[Any], object]
"""From a value of Avro to a canonical one; ValueError where it does not fit."""

_PRIMITIVE = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_LOGICAL = {
    ("int", "date"): types.Date(),
    ("long", "timestamp-millis"): types.Timestamp(),
    ("long", "timestamp-micros"): types.Timestamp(),
}
"""Others are what they are without their logical type, but for decimals."""
_PLAIN: Mapping[str, tuple[Type, ...]] = {
    "boolean": (types.Bool(),),
    "int": (types.Int32(), types.Int()),
    "long": (types.Int(),),
    "float": (types.Float(),),
    "double": (types.Float(),),
    "bytes": (types.Bytes(),),
    "fixed": (types.Bytes(),),
    "string": (types.String(),),
    "enum": (types.String(),),
}
_MANTISSA = Context(prec=100)


@dataclass(eq=False, slots=True)
class Node:
    """A type of a schema. `parts`: the fields of a record by their names; what an array or a map holds, and what a
    union may be, without. `said`: what else stands there, such as size, symbols and the logical type.
    """

    kind: str
    parts: list[tuple[str, Node]] = field(default_factory=list["tuple[str, Node]"])
    said: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __str__(self) -> str:
        logical = self.said.get("logicalType")
        if self.kind == "union":
            return f"a union of {', '.join(str(part) for _, part in self.parts)}"
        return f"{self.kind} ({logical})" if logical else self.kind


def read_schema(text: str) -> Node:
    """The record that a schema describes. ValueError where it describes none, or one that contains itself."""
    try:
        found = _Reading().node(json.loads(text), "")
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON: {error}") from None
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"it is no schema of Avro: {error!r}") from None
    if found.kind != "record":
        raise ValueError(f"it describes {found}, and messages are records")
    return found


class _Reading:
    """`named`: the types that have names, by these; None while one is being read."""

    def __init__(self) -> None:
        self.named: dict[str, Node | None] = {}

    def node(self, said: Any, space: str) -> Node:
        if isinstance(said, list):
            return Node("union", [("", self.node(each, space)) for each in cast("Sequence[Any]", said)])
        if isinstance(said, str):
            return Node(said) if said in _PRIMITIVE else self._known(said, space)
        kind = said["type"]
        if not isinstance(kind, str):
            return self.node(kind, space)
        match kind:
            case "record" | "enum" | "fixed":
                return self._named(kind, said, space)
            case "array" | "map":
                held = self.node(said["items" if kind == "array" else "values"], space)
                if kind == "array" and _takes_nothing(held):  # whatever number stands there, so many would be read
                    raise ValueError("it has an array whose items take no bytes")
                return Node(kind, [("", held)])
            case _ if kind in _PRIMITIVE:
                return Node(kind, [], said)
            case _:
                return self._known(kind, space)

    def _known(self, name: str, space: str) -> Node:
        for full in (name,) if "." in name else (f"{space}.{name}" if space else name, name):
            if full in self.named:
                node = self.named[full]
                if node is None:
                    raise ValueError(f'"{name}" contains itself, and records do not')
                return node
        raise ValueError(f'it has no type "{name}"')

    def _named(self, kind: str, said: dict[str, Any], space: str) -> Node:
        name: str = said["name"]
        space = name.rpartition(".")[0] if "." in name else said.get("namespace", space)
        full = name if "." in name or not space else f"{space}.{name}"
        self.named[full] = None
        fields = said["fields"] if kind == "record" else ()
        made = Node(kind, [(each["name"], self.node(each["type"], space)) for each in fields], said)
        self.named[full] = made
        return made


def _takes_nothing(node: Node) -> bool:
    if node.kind == "record":
        return all(_takes_nothing(part) for _, part in node.parts)
    return node.kind == "null" or (node.kind == "fixed" and node.said["size"] == 0)


def registry_head(schema_id: int | None) -> bytes:
    """With what values begin that name their schema in a registry."""
    return b"" if schema_id is None else b"\0" + schema_id.to_bytes(4, "big")


def other_schema(value: bytes) -> str:
    """Why a value is not of the schema of which it should be: it begins otherwise."""
    number = f"schema {int.from_bytes(value[1:5], 'big')}" if value[:1] == b"\0" else "no schema"
    return f"the value is of {number} of a registry"


def conversions(schema: Node, element: Struct) -> Iterator[tuple[str | None, Convert | None] | str]:
    """Of each field of a record where it stands in that of a schema, None where it is missing and null, and what makes
    its values canonical, None where they are; or why the schema does not give it.
    """
    known = dict(schema.parts)
    if element.cases:
        yield "a union of records is none of Avro"
    for each in element.fields:
        name = each.path or each.name
        try:
            if name in known:
                yield name, _conversion(known[name], each.type)
            elif is_nullable(each.type):
                yield None, None
            else:
                yield f'field "{each.name}" is not in the schema, which has {listed(known)}'
        except ValueError as error:
            yield f'field "{each.name}" {error}'


def _conversion(node: Node, type_: Type) -> Convert | None:
    if node.kind == "union":
        return _of_union(node, type_)
    plain, logical = strip(type_), str(node.said.get("logicalType"))
    found = _LOGICAL.get((node.kind, logical))
    match plain:
        case _ if found is not None:
            if plain == found:
                return {"date": _int32, "timestamp-millis": _millis}.get(logical)
        case types.Decimal() if logical == "decimal" and node.kind in ("bytes", "fixed"):
            scale, precision = node.said.get("scale", 0), node.said.get("precision")
            if scale == plain.scale and isinstance(precision, int) and precision <= plain.precision:
                return lambda data: _decimal(data, precision, scale)
        case _ if logical == "decimal":
            pass
        case types.Enumeration(values=values) if node.kind == "enum" and {*node.said["symbols"]} <= {*values}:
            return None
        case types.List(item=item) if node.kind == "array":
            return _each(_conversion(node.parts[0][1], item))
        case types.Map(key=types.String(), value=value) if node.kind == "map":
            return _values(_conversion(node.parts[0][1], value))
        case types.Struct() if node.kind == "record":
            return _record(node, plain)
        case _ if plain in _PLAIN.get(node.kind, ()):
            return _int32 if plain == types.Int32() else None
        case _:  # as below
            pass
    raise ValueError(f'is "{type_}", and the schema has {node}')


def _of_union(node: Node, type_: Type) -> Convert | None:
    branches = [part for _, part in node.parts if part.kind != "null"]
    if len(branches) != 1:
        raise ValueError(f'is "{type_}", and the schema has {node}')
    if len(branches) < len(node.parts) and not is_nullable(type_):
        raise ValueError(f'is "{type_}", and the schema lets it be null')
    inner = _conversion(branches[0], strip(type_))
    return None if inner is None else lambda data: None if data is None else inner(data)


def _each(inner: Convert | None) -> Convert | None:
    return None if inner is None else lambda data: [inner(each) for each in data]


def _values(inner: Convert | None) -> Convert | None:
    return None if inner is None else lambda data: {name: inner(each) for name, each in data.items()}


def _record(node: Node, type_: Struct) -> Convert:
    fields: list[tuple[str | None, Convert | None]] = []
    for found in conversions(node, type_):
        if isinstance(found, str):
            raise ValueError(f"is a record whose {found}")
        fields.append(found)

    def convert(data: dict[str, Any]) -> object:
        read = ((None if name is None else data[name], inner) for name, inner in fields)
        return tuple(value if inner is None else inner(value) for value, inner in read)

    return convert


def _millis(data: int) -> int:
    if not INT_MIN <= data * 1000 <= INT_MAX:
        raise ValueError("the time does not fit into timestamp")
    return data * 1000


def _int32(data: int) -> int:
    if not -(2**31) <= data < 2**31:
        raise ValueError("the number does not fit into int32")
    return data


def _decimal(data: bytes, precision: int, scale: int) -> Decimal:
    number = int.from_bytes(data, "big", signed=True)
    if abs(number) >= 10**precision:
        raise ValueError(f"the number has more than {precision} digits")
    return Decimal(number).scaleb(-scale, _MANTISSA)
