"""Unions that come from outside: each has all the fields of the record that its tag names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ghcm.types import List, Map, Nullable, Struct, Type


def whole(row: tuple[object, ...], element: Struct) -> tuple[object, ...]:
    """The record itself; ValueError where a union in it lacks a field of the record that it says it is."""
    _look(row, element)
    return row


def _look(value: object, type_: Type) -> None:
    match type_:
        case Nullable(of=of) if value is not None:
            _look(value, of)
        case List(item=item):
            for part in cast("Sequence[object]", value):
                _look(part, item)
        case Map(value=held):
            for part in cast("dict[object, object]", value).values():
                _look(part, held)
        case Struct(fields=fields):
            parts = cast("tuple[object, ...]", value)
            _look_at_tag(parts, type_)
            for part, field in zip(parts, fields, strict=True):
                _look(part, field.type)
        case _:
            pass


def _look_at_tag(parts: tuple[object, ...], union: Struct) -> None:
    for tag, field, record in union.needs:
        if parts[0] == tag and parts[union.names.index(field)] is None:
            raise ValueError(f'field "{field}" of "{record}" is missing')
