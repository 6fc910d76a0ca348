"""Where a thing was written: the bottom of every diagnostic and of every task's origin.

Knows text and positions only; it neither opens files nor knows what the text means.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Source:
    """A piece of program text with the name (usually a path) under which messages cite it."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(index + 1 for index, char in enumerate(self.text) if char == "\n")]

    def line_column(self, offset: int) -> tuple[int, int]:
        """Line and column (both from 1, columns in code points) of a character offset."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of line `number` (from 1) without its line end; empty past the end of the text."""
        starts = self._line_starts
        if not 0 < number <= len(starts):
            return ""
        end = starts[number] - 1 if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r")

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column (both from 1), clipped to the text."""
        starts = self._line_starts
        if line > len(starts):
            return len(self.text)
        return min(starts[line - 1] + column - 1, len(self.text))


@dataclass(frozen=True, slots=True)
class Span:
    """The characters `start` to `end` (exclusive) of one source."""

    source: Source
    start: int
    end: int

    @property
    def origin(self) -> Origin:
        """The position where the span starts, as the short form that tasks keep."""
        line, column = self.source.line_column(self.start)
        return Origin(self.source.name, line, column)

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of `other` in the same source."""
        return Span(self.source, self.start, max(self.end, other.end))


@dataclass(frozen=True, slots=True)
class Origin:
    """File, line and column (from 1) that a task came from; prints as `file:line:column`."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @classmethod
    def parse(cls, text: str) -> Origin:
        """The inverse of `str`.

        >>> Origin.parse("a.istream:3:28")
        Origin(file='a.istream', line=3, column=28)
        """
        file, line, column = text.rsplit(":", 2)
        return cls(file, int(line), int(column))


@dataclass(frozen=True, slots=True)
class SourceLine:
    """An origin with the text of its line, for messages of a time when the program is no more at hand; `text` is empty
    where it is not known.
    """

    origin: Origin
    text: str = ""
