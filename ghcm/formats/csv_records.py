"""CSV as in RFC 4180 with a header line; fields by the header's names. A record may span lines."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from ghcm.formats.fields import from_text_field
from ghcm.formats.records import Cells, Row
from ghcm.types import Struct


class _MoreNeeded(LookupError):
    """The record goes on behind what there is."""


def csv_records(
    lines: Iterable[bytes], separator: str, *, last: bool = True, strict: bool = False
) -> Iterator[tuple[list[str] | csv.Error, bytes, int]]:
    """The cells of each record, or why it has none, its bytes and how many lines they are. `last`: more lines never
    come, so that what is not whole is a record, too; not if `strict`, nor are cells with text behind their quotes.
    """
    csv.field_size_limit(2**31 - 1)
    taken: list[bytes] = []

    def texts() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line.decode("utf-8", "replace")
        if not last:
            raise _MoreNeeded

    reader = csv.reader(texts(), delimiter=separator, strict=strict)
    while True:
        cells: list[str] | csv.Error
        try:
            cells = next(reader)
        except (StopIteration, _MoreNeeded):
            return
        except csv.Error as error:
            cells = error
        yield cells, taken[0] if len(taken) == 1 else b"".join(taken), len(taken)
        taken.clear()


class CsvRecords:
    """The records of one file after the other; the first that can be read is the header. `own` as in
    `from_text_field`.
    """

    def __init__(self, schema: Struct, *, own: bool = False) -> None:
        self._read = partial(from_text_field, own=own)
        names = tuple(replace(field, path=None) for field in schema.fields)
        self._schema = replace(schema, fields=names) if own else schema
        self.header: list[str] | None = None
        self.cells: Cells | None = None

    def begin(self, header: list[str] | None = None, file: str = "") -> None:
        """A new file, or one whose header is known. GhcmError where it lacks a column."""
        self.header = header
        self.cells = None if header is None else Cells(self._schema, file, header, self._read)

    def take(self, cells: list[str] | Exception, raw: bytes, file: str) -> Row | None:
        """The record; None for the header and for an empty line. ValueError where it does not fit, GhcmError as
        `begin`.
        """
        if cells == []:
            return None
        try:
            raw.decode()
        except UnicodeDecodeError:
            raise ValueError("the text is not UTF-8") from None
        if isinstance(cells, Exception):
            raise ValueError(f"no CSV: {cells}")
        if self.cells is None:
            self.begin(cells, file)
            return None
        return self.cells.row(cells, "the header")


def line_writer(separator: str) -> Callable[[Iterable[str | None]], str]:
    """The function that gives cells as a line, with quotes around those that need them: the csv module leaves a lone
    carriage return without. Nothing stands for null, quotes around nothing for an empty text: this reader takes both
    for null, others tell them apart.

    >>> line_writer(",")(["a,b", None, ""])
    '"a,b",,""'
    """
    find = re.compile("|".join(map(re.escape, (separator, '"', "\r", "\n")))).search

    def cell(text: str) -> str:
        return text if text and not find(text) else '"' + text.replace('"', '""') + '"'

    def line(cells: Iterable[str | None]) -> str:
        written = separator.join("" if text is None else cell(text) for text in cells)
        return written or '""'  # an empty line would be no record

    return line
