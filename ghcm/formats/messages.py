"""Messages of Kafka: what one has besides its value, and which fields of records hold that.

A source asks for parts by words of `PARTS`, each with the name of a field (`Kafka.fields`); the other fields of its
record are what the value holds in its format.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ghcm.types import Bool, Bytes, Int, List, Map, String, Struct, Timestamp, Type, strip


@dataclass(frozen=True, slots=True)
class Message:
    """A message as clients have it; the time is in milliseconds since 1970, less than 0 where it has none."""

    value: bytes | None
    key: bytes | None = None
    time_ms: int = -1
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message: whether a field of a type, without its `?`, may hold it, and which types these are."""

    holds: Callable[[Type], bool]
    types: str


def is_text(type_: Type) -> bool:
    """Whether values of the type are bytes as they are, or texts of them."""
    return isinstance(strip(type_), String | Bytes)


def _holds_headers(type_: Type) -> bool:
    match type_:
        case Map(key=String(), value=value):
            return is_text(value)
        case List(item=Struct(fields=(name, value), cases=())):
            return name.type == String() and is_text(value.type)
        case _:  # no other type has a name and a value for each
            return False


PARTS: Mapping[str, Part] = {
    "key": Part(is_text, "string or bytes"),
    "timestamp": Part(lambda type_: type_ == Timestamp(), "timestamp"),
    "headers": Part(_holds_headers, "map<string, bytes?>, or a list of records of a name and a value"),
    "origin": Part(lambda type_: type_ == String(), "string"),
    "partition": Part(lambda type_: type_ == Int(), "int"),
    "offset": Part(lambda type_: type_ == Int(), "int"),
    "deleted": Part(lambda type_: type_ == Bool(), "bool"),
}
"""By the words that ask for them. Of headers of one name a map holds the last; string in place of bytes holds UTF-8;
deleted is a message without a value.
"""


Fields: TypeAlias = Sequence[tuple[str, str]]
"""Words of `PARTS`, each with the field that holds the part."""


def value_of(fields: Fields, element: Struct) -> Struct:
    """The record that the value of a message holds: without the fields that hold other parts of it."""
    held = {name for _, name in fields}
    return replace(element, fields=tuple(each for each in element.fields if each.name not in held)) if held else element


def field_problems(fields: Fields, element: Struct) -> Iterator[str]:
    """What is wrong with the fields of a record that are to hold parts of messages."""
    for word, name in fields:
        field = element.get(name)
        if field is None or word not in PARTS:
            yield f'"{element}" has no field "{name}" for the {word} of messages'
        elif not PARTS[word].holds(strip(field.type)):
            yield f'field "{name}", which is "{field.type}", cannot hold the {word} of messages'
    if len({name for _, name in fields}) < len(fields):
        yield "a field holds two parts of messages"


def holds_raw(value: Struct) -> bool:
    """Whether the record of values is one field that holds them as they are."""
    return len(value.fields) == 1 and is_text(value.fields[0].type)
