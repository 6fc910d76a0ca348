"""What was read held against the record that is to be made of it: the names of a header, the fields of unions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

from ghcm.errors import GhcmError, suggest
from ghcm.types import List, Map, Nullable, Struct, Type, is_nullable


def column_indices(file: str, header: Sequence[str], schema: Struct) -> list[int | None]:
    """Where each field of the record stands in the header, None where it may be missing and is. GhcmError otherwise.

    >>> from ghcm.types import Field, Int, Nullable
    >>> column_indices("a.csv", ["b", "a"], Struct((Field("a", Int()), Field("c", Nullable(Int())))))
    [1, None]
    """
    found: list[int | None] = []
    missing: list[str] = []
    for field in schema.fields:
        path = field.path or field.name
        found.append(header.index(path) if path in header else None)
        if found[-1] is None and not is_nullable(field.type):
            missing.append(path)
    if missing:
        raise _missing(file, missing, header)
    return found


def _missing(file: str, missing: list[str], header: Sequence[str]) -> GhcmError:
    close = [(name, hint) for name in missing if (hint := suggest(name, header))]
    hints = [hint if len(missing) == 1 else f'for "{name}", {hint}' for name, hint in close]
    names = ", ".join(f'"{name}"' for name in missing)
    return GhcmError(
        f'cannot read "{file}": it has no column{"s" if len(missing) > 1 else ""} {names}',
        code="GHCM-736",
        detail=f"Its columns are {', '.join(header)}." if header else "It names no columns.",
        hint="; ".join(hints)
        or 'a field that stands elsewhere says so, from "column"; one that may be missing ends in ?.',
    )


Check: TypeAlias = Callable[[object], None]
"""Takes a canonical value; ValueError where a union in it lacks a field."""


def union_check(type_: Type) -> Check | None:
    """What looks at values of the type; None where there is no union in it."""
    match type_:
        case Nullable(of=of):
            inner = union_check(of)
            return None if inner is None else lambda value: None if value is None else inner(value)
        case List(item=item):
            each = union_check(item)
            return None if each is None else lambda value: _all(each, cast("Sequence[object]", value))
        case Map(value=held):
            of_value = union_check(held)
            if of_value is None:
                return None
            return lambda value: _all(of_value, list(cast("Mapping[object, object]", value).values()))
        case Struct(fields=fields):
            index_of = {field.name: index for index, field in enumerate(fields)}
            wanted: dict[object, list[tuple[int, str]]] = {}
            for tag, field, record in type_.needs:
                wanted.setdefault(tag, []).append((index_of[field], f'field "{field}" of "{record}" is missing'))
            parts = [(index, check) for index, field in enumerate(fields) if (check := union_check(field.type))]
            return _of_struct(wanted, parts) if wanted or parts else None
        case _:  # a type that holds no others
            return None


def _of_struct(wanted: Mapping[object, list[tuple[int, str]]], parts: Sequence[tuple[int, Check]]) -> Check:
    def check(value: object) -> None:
        row = cast("tuple[object, ...]", value)
        for index, missing in wanted.get(row[0], ()) if wanted else ():
            if row[index] is None:
                raise ValueError(missing)
        for index, look in parts:
            look(row[index])

    return check


def _all(check: Check, values: Sequence[object]) -> None:
    for value in values:
        check(value)
