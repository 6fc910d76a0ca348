"""Comments and empty lines of a source, handed to whoever prints the code around them; each comment exactly once."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ghcm.language.tokens import raw_tokens
from ghcm.source import Source, Span


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

    def stands_alone(self, start: int, end: int) -> bool:
        """Whether a comment between these offsets waits that has its line to itself."""
        waiting = (comment.start for comment in self._waiting if start <= comment.start < end)
        return any("\n" in self._source.text[start:comment] for comment in waiting)

    def before(self, offset: int) -> list[Comment]:
        """Take all comments that begin before `offset`."""
        taken: list[Comment] = []
        while self._waiting and self._waiting[0].start < offset:
            taken.append(self._waiting.popleft())
        return taken

    def trailing(self, span: Span | None) -> str:
        """Take the comment on the line on which `span` ends, if nothing but punctuation stands between."""
        if span is None or not self._waiting:
            return ""
        between = self._source.text[span.end : self._waiting[0].start]
        if self._waiting[0].start < span.end or between.strip(" \t\r,;") or "\n" in between:
            return ""
        return self._waiting.popleft().text
