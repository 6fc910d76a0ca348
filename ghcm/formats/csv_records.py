"""CSV as in RFC 4180 with a header line; fields by the header's names. A record may span lines."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Self

from ghcm.formats.fields import QUOTED, from_text_field
from ghcm.formats.records import Cells, Row
from ghcm.types import Struct

MOST_LINES = 1_000
"""So many lines a record may span: a quote that nobody closes must not hold up what comes behind it."""
_UNFIT = "a quote is not closed, or text stands behind one that is"


class _MoreNeeded(LookupError):
    """The record goes on behind what there is."""


class _Lines:
    """Lines as texts for the csv module, with those of the record that is being read; these can be put back."""

    def __init__(self, lines: Iterable[bytes], *, last: bool) -> None:
        self._lines = iter(lines)
        self._last = last
        self._again: list[bytes] = []
        self.taken: list[bytes] = []
        self.open = False
        """Whether the lines ended within a record."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        if len(self.taken) >= MOST_LINES:
            raise csv.Error(_UNFIT)
        line = self._again.pop() if self._again else next(self._lines, None)
        if line is None:
            self.open = bool(self.taken)
            if self._last:
                raise StopIteration
            raise _MoreNeeded
        self.taken.append(line)
        return line.decode("utf-8", "replace")

    def put_back(self) -> None:
        """Have all lines of the record but the first come again."""
        self._again += self.taken[:0:-1]
        del self.taken[1:]
        self.open = False


def csv_records(
    lines: Iterable[bytes], separator: str, *, last: bool = True, strict: bool = False
) -> Iterator[tuple[list[str] | csv.Error, bytes, int]]:
    """The cells of each record, or why it has none, its bytes and how many lines they are. `last`: more lines never
    come, so that what is not whole is a record, too; not if `strict`, nor are cells with text behind their quotes.

    A quote that nobody closes costs its line alone: the next record begins with the line behind it. So does one that is
    closed in another line, with text behind it: a record of several lines is always strict.
    """
    csv.field_size_limit(2**31 - 1)
    texts = _Lines(lines, last=last)
    reader = csv.reader(texts, delimiter=separator, strict=strict)
    while True:
        cells: list[str] | csv.Error
        try:
            cells = next(reader)
        except (StopIteration, _MoreNeeded):
            return
        except csv.Error as error:
            cells = error
        if texts.open or (len(texts.taken) > 1 and not _fits(texts.taken, separator)):
            cells = csv.Error(_UNFIT)
            texts.put_back()
        taken = texts.taken
        yield cells, taken[0] if len(taken) == 1 else b"".join(taken), len(taken)
        texts.taken = []


def _fits(lines: list[bytes], separator: str) -> bool:
    """Whether lines are one record, strictly."""
    texts = (each.decode("utf-8", "replace") for each in lines)
    try:
        return len(list(csv.reader(texts, delimiter=separator, strict=True))) == 1
    except csv.Error:
        return False


class CsvRecords:
    """The records of one file after the other; the first that can be read is the header. `own` as in
    `from_text_field`. `kept_by`: the separator, where quotes around nothing are an empty text in what may be null.
    """

    def __init__(self, schema: Struct, *, own: bool = False, kept_by: str = "") -> None:
        self._kept_by = kept_by
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
        if self._kept_by and b'""' in raw:
            cells = with_quoted(cells, raw.decode(), self._kept_by)
        return self.cells.row(cells, "the header")


def with_quoted(cells: list[str], text: str, separator: str) -> list[str]:
    """The cells of a record, `QUOTED` where quotes stand around nothing.

    >>> [each is QUOTED for each in with_quoted(["", "", "a"], '"",,a', ",")]
    [True, False, False]
    """
    cell = re.compile(rf'("(?:[^"]|"")*"?)?[^{re.escape(separator)}\r\n]*')
    found, at = list[str](), 0
    for each in cells:
        match = cell.match(text, at)
        assert match is not None, "it may be of no length"
        found.append(QUOTED if match[0] == '""' else each)
        at = match.end() + 1
    return found


def line_writer(separator: str) -> Callable[[Iterable[str | None]], str]:
    """The function that gives cells as a line, with quotes around those that need them: the csv module leaves a lone
    carriage return without. Nothing stands for null, quotes around nothing for an empty text, or for the null of a
    record of one column.

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
