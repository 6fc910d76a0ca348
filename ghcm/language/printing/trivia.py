"""Comments and empty lines of a source, handed to whoever prints the code around them; each comment exactly once."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ghcm.language.tokens import raw_tokens
from ghcm.source import Source, Span

STEP = 2


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment, without white space around it. `apart`: an empty line stands before it."""

    start: int
    text: str
    apart: bool


class Trivia:
    """The comments of a source that are not printed yet, in order. Without a source there are none."""

    def __init__(self, source: Source | None = None) -> None:
        self._source = source or Source("", "")
        comments = (token for token in raw_tokens(self._source) if token.type == "COMMENT")
        self._waiting = deque(
            Comment(token.start_pos or 0, token.rstrip(), self.apart(token.start_pos or 0)) for token in comments
        )

    def apart(self, offset: int) -> bool:
        """Whether what begins at `offset` begins its line, and the line before it is empty."""
        before = self._source.text[:offset].split("\n")
        return len(before) > 2 and not before[-1].strip() and not before[-2].strip()

    def waits(self, start: int, end: int) -> bool:
        """Whether a comment between these offsets waits to be printed."""
        return any(start <= comment.start < end for comment in self._waiting)

    def waits_in(self, span: Span | None) -> bool:
        """Whether a comment inside of something waits to be printed."""
        return span is not None and self.waits(span.start, span.end)

    def stands_alone(self, start: int, end: int) -> bool:
        """Whether a comment between these offsets waits that has its line to itself."""
        waiting = (comment.start for comment in self._waiting if start <= comment.start < end)
        return any("\n" in self._source.text[start:comment] for comment in waiting)

    def _before(self, offset: int) -> list[Comment]:
        """Take all comments that begin before `offset`."""
        taken: list[Comment] = []
        while self._waiting and self._waiting[0].start < offset:
            taken.append(self._waiting.popleft())
        return taken

    def lines_before(self, offset: int, indent: int) -> list[str]:
        """The comments before `offset` on lines of their own, an empty one before each that stood apart."""
        lines: list[str] = []
        for comment in self._before(offset):
            lines += ["", " " * indent + comment.text] if comment.apart else [" " * indent + comment.text]
        return lines

    def above(self, span: Span | None, indent: int) -> list[str]:
        """The comments above something, and the empty line before it."""
        lines = self.lines_before(start_of(span), indent)
        return [*lines, ""] if span is not None and self.apart(span.start) else lines

    def inside(self, span: Span | None, indent: int) -> list[str]:
        """The comments inside something that is printed without them, to stand above it."""
        return [" " * indent + comment.text for comment in self._before(end_of(span))]

    def closing(self, span: Span | None) -> list[str]:
        """The comments between the last line of a body and its closing brace."""
        return self.lines_before(end_of(span), STEP)

    def with_trailing(self, line: str, span: Span | None, width: int = 0) -> str:
        """The line, at least `width` characters, and the comment behind `span` on its last line, if nothing but
        punctuation stands between."""
        if span is None or not self._waiting:
            return line
        between = self._source.text[span.end : self._waiting[0].start]
        if self._waiting[0].start < span.end or between.strip(" \t\r,;") or "\n" in between:
            return line
        return f"{line.ljust(width)}  {self._waiting.popleft().text}"


def start_of(span: Span | None) -> int:
    """Where something begins; 0 where no source holds it."""
    return 0 if span is None else span.start


def end_of(span: Span | None) -> int:
    """Where something ends; 0 where no source holds it."""
    return 0 if span is None else span.end
