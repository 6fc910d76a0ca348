"""Where the user's Python stands: spans for what is traced, taken from the running frames.

The interpreter keeps line and column of every instruction, so that a mistake inside a lambda points at its own
operator. Where the text of the code is not at hand (an interactive session) the line number is kept.
"""

from __future__ import annotations

import ast as python
import linecache
import os
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType, TracebackType

from ghcm.source import Source, Span

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_Positions = tuple[int | None, int | None, int | None, int | None]


def is_ours(filename: str) -> bool:
    """Whether a file belongs to this front end, so that its frames are none of the user's."""
    return filename.startswith(_OURS)


def caller() -> FrameType:
    """The innermost frame of the user's code."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  (there is no public way)
    while frame.f_back is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def here() -> Span:
    """What the user's innermost frame is evaluating."""
    return of_frame(caller())


def of_frame(frame: FrameType) -> Span:
    """What a frame is evaluating."""
    return _at_instruction(frame.f_code, frame.f_lasti, frame.f_lineno)


def innermost(traceback: TracebackType | None, filename: str) -> Span | None:
    """The deepest place of a traceback in that file, else in any file that is the user's."""
    found: list[tuple[bool, Span]] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_ours(code.co_filename) and not code.co_filename.startswith("<frozen"):
            place = _at_instruction(code, traceback.tb_lasti, traceback.tb_lineno)
            found.append((code.co_filename == filename, place))
        traceback = traceback.tb_next
    wanted = [span for mine, span in found if mine] or [span for _, span in found]
    return wanted[-1] if wanted else None


def of_code(code: CodeType) -> Span:
    """All that a function's body says."""
    source = source_of(code.co_filename)
    positions = [each for each in code.co_positions() if each[2] is not None and each[3]]
    starts = [columns(source, line, column) for line, _, column, _ in positions if line and column is not None]
    ends = [columns(source, line, column) for _, line, _, column in positions if line and column is not None]
    if not source.text.strip() or not starts:
        return at_line(source, code.co_firstlineno)
    return Span(source, min(starts), max(ends))


def at_line(source: Source, line: int) -> Span:
    """A whole line; where the text is not at hand, a place that has its number."""
    if not source.line(line):
        blank = Source(source.name, "\n" * (line - 1))
        return Span(blank, line - 1, line - 1)
    text = source.line(line)
    start = source.offset(line, 1)
    return Span(source, start + len(text) - len(text.lstrip()), start + len(text.rstrip()))


def columns(source: Source, line: int, byte: int) -> int:
    """The offset of a place that is given as line and bytes of UTF-8, as the interpreter does."""
    return source.offset(line, len(source.line(line).encode()[:byte].decode(errors="ignore")) + 1)


def span_of_node(source: Source, node: python.AST) -> Span:
    """Where a node of Python's own tree stands."""
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end, end_column = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", column)
    return Span(source, columns(source, line, column), columns(source, end, end_column))


def source_of(filename: str) -> Source:
    """The text of a file of code, also of a notebook's cell; empty where it is not at hand."""
    return _source(shown(filename), "".join(linecache.getlines(filename)))


@lru_cache(maxsize=64)
def _source(name: str, text: str) -> Source:
    return Source(name, text)


def shown(filename: str) -> str:
    """A path as a person cites it: from the working directory on, where it is below it."""
    inside = os.path.isabs(filename) and filename.startswith(os.getcwd() + os.sep)
    return os.path.relpath(filename) if inside else filename


def _at_instruction(code: CodeType, offset: int, line: int | None) -> Span:
    source = source_of(code.co_filename)
    begin, end, column, end_column = _position(code.co_positions(), offset // 2)
    if begin is None or end is None or column is None or end_column is None or not source.line(begin):
        return at_line(source, begin or line or 1)
    return Span(source, columns(source, begin, column), columns(source, end, end_column))


def _position(positions: Iterator[_Positions] | Iterable[_Positions], index: int) -> _Positions:
    return next(islice(positions, max(index, 0), None), (None, None, None, None))
