"""Zeek's logs: lines of cells under `#` headers, which may change in the middle of a file."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ghcm.errors import GhcmError
from ghcm.formats.fields import from_text_field
from ghcm.formats.files import bare
from ghcm.formats.records import Cells, Row
from ghcm.types import Bool, Bytes, Enumeration, List, Nullable, String, Struct, Type

_ESCAPE = re.compile(rb"\\x[0-9A-Fa-f]{2}|\\\\")
_SETTINGS = {"#separator": "\t", "#set_separator": ",", "#empty_field": "(empty)", "#unset_field": "-"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How cells are written. `unset`: the text of null, "" in CSV. `empty`: the text of what is empty, None in CSV."""

    unset: str = ""
    empty: str | None = None
    set_separator: str = ","
    true: str = "true"
    false: str = "false"


class ZeekLog:
    """The records of one log after the other, line by line, and the headers that hold."""

    def __init__(self, schema: Struct) -> None:
        self._schema = schema
        self.begin()

    def begin(self, settings: Mapping[str, str] | None = None, header: list[str] | None = None) -> None:
        """A new file, or one whose headers are known."""
        self.settings = dict(settings or _SETTINGS)
        self.header = header
        self.cells: Cells | None = None
        self._use("")

    @property
    def dialect(self) -> Dialect:
        """How the headers say that cells are written."""
        said = self.settings
        return Dialect(said["#unset_field"], said["#empty_field"], said["#set_separator"], "T", "F")

    def take_header(self, line: bytes, file: str) -> None:
        """Let a header hold from here on. GhcmError where it lacks a column."""
        text = bare(line)
        if text.startswith("#separator "):
            self.settings["#separator"] = _unescaped(text.removeprefix("#separator ").encode()).decode()
            return
        word, *parts = text.split(self.settings["#separator"])
        if word == "#fields":
            self.header = parts
        elif word not in self.settings or not parts:
            return
        else:
            self.settings[word] = parts[0]
        self._use(file)

    def take(self, line: bytes, file: str, number: int) -> Row | None:
        """The record of a line that is no header, None for an empty one. ValueError where it does not fit, GhcmError
        where there is no header.
        """
        own = line.removesuffix(b"\n").removesuffix(b"\r")
        if not own:
            return None
        try:
            text = own.decode()
        except UnicodeDecodeError:
            raise ValueError("the text is not UTF-8") from None
        if self.cells is None:
            raise GhcmError(
                f'cannot read "{file}:{number}": there is no line "#fields" before it',
                code="GHCM-736",
                hint="logs of Zeek without headers are JSON lines: format = json.",
            )
        return self.cells.row(text.split(self.settings["#separator"]), "#fields")

    def _use(self, file: str) -> None:
        if self.header is not None:
            dialect = self.dialect
            self.cells = Cells(self._schema, file, self.header, lambda type_: _reader(type_, dialect))


def _reader(type_: Type, dialect: Dialect) -> Callable[[str], object]:
    """The function that reads a cell of this type."""
    match type_:
        case Nullable(of=of):
            inner = _reader(of, dialect)
            return lambda cell: None if cell == dialect.unset else inner(cell)
        case String():
            return _set(type_, dialect, _text, "")
        case Enumeration():
            member = from_text_field(type_)
            return _set(type_, dialect, lambda cell: member("" if cell == dialect.empty else _text(cell)), None)
        case Bytes():
            return _set(type_, dialect, lambda cell: _unescaped(cell.encode()), b"")
        case Bool():
            return _set(type_, dialect, _truth, None)
        case List(item=item):
            each = _reader(item, dialect)
            return _set(type_, dialect, lambda cell: [each(part) for part in cell.split(dialect.set_separator)], [])
        case _:  # cells of the other types are those of CSV
            return _set(type_, dialect, from_text_field(type_), None)


def _set(type_: Type, dialect: Dialect, read: Callable[[str], object], empty: object) -> Callable[[str], object]:
    """A reader of cells that are set: those that are not do not fit, those that are empty are `empty` where it has a
    meaning."""

    def reader(cell: str) -> object:
        if cell == dialect.unset:
            raise ValueError(f"expected {type_}, found nothing")
        return empty if cell == dialect.empty and empty is not None else read(cell)

    return reader


def _text(cell: str) -> str:
    return cell if "\\" not in cell else _unescaped(cell.encode()).decode()


def _truth(cell: str) -> bool:
    if cell not in ("T", "F"):
        raise ValueError(f'expected T or F, found "{cell[:60]}"')
    return cell == "T"


def _unescaped(text: bytes) -> bytes:
    r"""The bytes for which `\xHH` and `\\` stand; another backslash stands for itself."""
    return _ESCAPE.sub(lambda found: b"\\" if found[0] == b"\\\\" else bytes.fromhex(found[0][2:].decode()), text)
