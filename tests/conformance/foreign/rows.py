"""Rows of engines and rows of foreign files in one form, so that they can be compared as multisets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import cast

from ghcm.types import Struct, Type, as_nullable, strip
from ghcm.values import to_json

__all__ = ["cells", "differences", "line", "plain"]

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|\+00:00)?")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


def differences(expected: Iterable[object], found: Iterable[object], *, loose: bool = False) -> list[str]:
    """What two multisets of JSON data differ in, in words; empty where they are the same. `loose`: text that reads as a
    number is that number, and empty text is null.
    """
    one, other = (Counter(plain(_read(row) if loose else row) for row in rows) for rows in (expected, found))
    missing = [f"missing {row}" for row in (one - other).elements()]
    return missing + [f"surplus {row}" for row in (other - one).elements()]


def plain(value: object) -> object:
    """JSON data that can be hashed: moments in one notation, floats to twelve digits, objects by the names of their
    fields in lower case.
    """
    match value:
        case str():
            return _moment(value) if _MOMENT.fullmatch(value) else value
        case bool() | int() | None:
            return value
        case float():
            return float(f"{value:.12g}")
        case list() | tuple():
            return tuple(map(plain, cast("Sequence[object]", value)))
        case dict():
            fields = cast("dict[str, object]", value)
            return tuple(sorted((name.lower(), plain(each)) for name, each in fields.items()))
        case _:
            raise TypeError(f"{value!r} is no JSON data")


def _read(value: object) -> object:
    match value:
        case "":
            return None
        case str() if _NUMBER.fullmatch(value):
            return float(value) if set(value) & set(".eE") else int(value)
        case list():
            return [_read(each) for each in cast("list[object]", value)]
        case _:
            return value


def _moment(text: str) -> str:
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.isoformat(timespec="microseconds")


def cells(row: object, type_: Type) -> list[object]:
    """A canonical row as JSON data in one flat list: what foreign rows without names are compared with. A record that
    is null is a null for each of its fields.
    """
    record = strip(type_)
    if not isinstance(record, Struct):
        return [to_json(row, type_)]
    values = cast("Sequence[object]", row) if row is not None else [None] * len(record.fields)
    types = [each.type if row is not None else as_nullable(each.type) for each in record.fields]
    return [cell for value, each in zip(values, types, strict=True) for cell in cells(value, each)]


def line(row: Sequence[object]) -> str:
    """Cells as a console shows them: blanks between, moments without fractions that are zero."""
    return " ".join(map(_shown, row))


def _shown(cell: object) -> str:
    match cell:
        case None:
            return "NULL"
        case float():
            return f"{cell:.12g}"
        case str() if _MOMENT.fullmatch(cell):
            return re.sub(r"(\.\d*?)0*$", r"\1", _moment(cell)[:26].replace("T", " ")).rstrip(".")
        case _:
            return str(cell)
