"""The comments of a source, and its single empty lines, as lines of the canonical text."""

from __future__ import annotations

from collections.abc import Sequence

from ghcm.language.trivia import Comment, Trivia
from ghcm.source import Span

STEP = 2


def start_of(span: Span | None) -> int:
    """Where something begins; 0 where no source holds it."""
    return 0 if span is None else span.start


def end_of(span: Span | None) -> int:
    """Where something ends; 0 where no source holds it."""
    return 0 if span is None else span.end


def comment_lines(comments: Sequence[Comment], indent: int) -> list[str]:
    """Comments on lines of their own, an empty one before each that stood apart."""
    lines: list[str] = []
    for comment in comments:
        lines += ["", " " * indent + comment.text] if comment.apart else [" " * indent + comment.text]
    return lines


def comments_above(span: Span | None, trivia: Trivia, indent: int) -> list[str]:
    """The comments above something, and the empty line before it."""
    lines = comment_lines(trivia.before(start_of(span)), indent)
    return [*lines, ""] if span is not None and trivia.apart(span.start) else lines


def with_trailing(line: str, trivia: Trivia, span: Span | None) -> str:
    """The line, and the comment that stood behind it."""
    comment = trivia.trailing(span)
    return f"{line}  {comment}" if comment else line


def comments_inside(span: Span | None, trivia: Trivia, indent: int) -> list[str]:
    """The comments inside something that is printed without them, to stand above it."""
    found = trivia.before(span.end) if span is not None else []
    return [" " * indent + comment.text for comment in found]


def closing_comments(span: Span | None, trivia: Trivia) -> list[str]:
    """The comments between the last line of a body and its closing brace."""
    return comment_lines(trivia.before(span.end), STEP) if span is not None else []
