"""Keys, timestamps and headers of messages, and values as they are, as columns of canonical values.

A column is made as a whole, by functions that are not Python's where the client gives bytes and numbers. Headers, which
it gives as a list for each message, are looked at one by one, as is a column in which a message lacks something.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, TypeAlias

from ghcm.types import INT_MAX, Field, List, Map, String, Struct, Type, is_nullable, strip

Raw: TypeAlias = Sequence[Any]
"""What the client says of each message: bytes, milliseconds, pairs, or None."""

_Make: TypeAlias = Callable[[Raw], list[object]]
"""ValueError or TypeError where one of them is nothing that the field holds."""


@dataclass(frozen=True, slots=True)
class PartColumn:
    """The field that holds a part of messages, which `word` names."""

    word: str
    field: Field
    make: _Make

    def values(self, raw: Raw, refuse: Callable[[int, str], None]) -> list[object]:
        """The values of the field. Where it cannot hold what a message has, `refuse` is given its index and the reason,
        and the value is None.
        """
        with suppress(ValueError, TypeError):
            return self.make(raw)
        return [self._value(index, each, refuse) for index, each in enumerate(raw)]

    def _value(self, index: int, raw: Any, refuse: Callable[[int, str], None]) -> object:
        missing = raw is None if self.word != "timestamp" else raw < 0
        try:
            if not missing or self.word == "headers":
                return self.make([raw])[0]
            if not is_nullable(self.field.type):
                raise ValueError(f"the message has no {self.word}")
        except UnicodeDecodeError:
            refuse(index, f'field "{self.field.name}": the {self.word} is not UTF-8')
        except ValueError as error:
            refuse(index, f'field "{self.field.name}": {error}')
        return None


def part_column(word: str, field: Field) -> PartColumn:
    """The column of a part (a word of `ghcm.formats.messages`, or `value`), for a field whose type may hold it."""
    type_ = strip(field.type)
    match word:
        case "timestamp":
            return PartColumn(word, field, _micros)
        case "headers":
            return PartColumn(word, field, _headers(type_))
        case _:  # bytes, or what the client knows of every message
            text = word in ("key", "value") and isinstance(type_, String)
            return PartColumn(word, field, _texts if text else _present)


def _present(raw: Raw) -> list[object]:
    if None in raw:
        raise ValueError
    return list(raw)


def _texts(raw: Raw) -> list[object]:
    return list(map(bytes.decode, raw))


def _micros(raw: Raw) -> list[object]:
    if raw and not 0 <= min(raw) <= max(raw) <= INT_MAX // 1000:
        raise ValueError("the time does not fit into timestamp")
    return list(map((1000).__mul__, raw))


def _headers(type_: Type) -> _Make:
    if isinstance(type_, Map):
        value = _header_value(type_.value)
        return lambda raw: [{name: value(held) for name, held in each or ()} for each in raw]
    assert isinstance(type_, List) and isinstance(type_.item, Struct), "headers are a map or a list of records"
    (_, field) = type_.item.fields
    value = _header_value(field.type)
    return lambda raw: [[(name, value(held)) for name, held in each or ()] for each in raw]


def _header_value(type_: Type) -> Callable[[bytes | None], object]:
    nullable, text = is_nullable(type_), isinstance(strip(type_), String)

    def read(held: bytes | None) -> object:
        if held is None and not nullable:
            raise ValueError("a header has no value")
        return held.decode() if text and held is not None else held

    return read


def header_writer(type_: Type) -> Callable[[Any], list[tuple[str, bytes | None]]]:
    """The function that gives the headers of a message of a value that may hold them; none of null."""
    pairs: Callable[[Any], Any] = methodcaller("items") if isinstance(strip(type_), Map) else iter

    def write(value: Any) -> list[tuple[str, bytes | None]]:
        given = () if value is None else pairs(value)
        return [(name, held.encode() if isinstance(held, str) else held) for name, held in given]

    return write
