"""Logs of Zeek in the reference: lines of cells under `#` headers that may change in the middle of a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

from ghcm.types import Bool, Bytes, Enumeration, List, Map, Nullable, String, Struct, Type

_ESCAPE = re.compile(rb"\\x([0-9A-Fa-f]{2})|\\\\")


@dataclass
class Log:
    """What the headers have said so far; `columns` is None before the first `#fields`."""

    separator: str = "\t"
    set_separator: str = ","
    empty: str = "(empty)"
    unset: str = "-"
    columns: list[str] | None = field(default=None)

    def header(self, line: str) -> bool:
        """Take a line that begins with `#`; whether it has named the columns."""
        if line.startswith("#separator "):
            self.separator = _unescaped(line.removeprefix("#separator ").encode()).decode()
            return False
        word, *rest = line.split(self.separator)
        if word == "#fields":
            self.columns = rest
            return True
        if rest:
            self.set_separator = rest[0] if word == "#set_separator" else self.set_separator
            self.empty = rest[0] if word == "#empty_field" else self.empty
            self.unset = rest[0] if word == "#unset_field" else self.unset
        return False


def zeek_value(log: Log, cell: str, type_: Type, other: Callable[[str, Type], object]) -> object:
    """The value of a cell; `other` reads what is written as in CSV. ValueError where it does not fit."""
    match type_:
        case Nullable(of=of):
            return None if cell == log.unset else zeek_value(log, cell, of, other)
        case _ if cell == log.unset:
            raise ValueError(f"expected {type_}, found nothing")
        case String():
            return "" if cell == log.empty else _unescaped(cell.encode()).decode()
        case Enumeration():
            return other("" if cell == log.empty else _unescaped(cell.encode()).decode(), type_)
        case Bytes():
            return b"" if cell == log.empty else _unescaped(cell.encode())
        case Bool():
            if cell not in ("T", "F"):
                raise ValueError(f"expected T or F, found {cell[:60]!r}")
            return cell == "T"
        case List(item=item):
            parts = [] if cell == log.empty else cell.split(log.set_separator)
            return [zeek_value(log, part, item, other) for part in parts]
        case Map() | Struct():
            raise ValueError(f"expected {type_}, which no log of Zeek holds")
        case _:
            return other(cell, type_)


def _unescaped(text: bytes) -> bytes:
    r"""The bytes for which `\xHH` and `\\` stand; another backslash stands for itself."""
    return _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()) if found[1] else b"\\", text)


def cells(log: Log, line: str) -> Iterator[tuple[str, str]]:
    """The cells of a line with the names of their columns."""
    parts = line.split(log.separator)
    names = cast("list[str]", log.columns)
    if len(parts) != len(names):
        raise ValueError(f"expected {len(names)} fields as in #fields, found {len(parts)}")
    yield from zip(names, parts, strict=True)
