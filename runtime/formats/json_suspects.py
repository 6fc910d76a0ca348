"""The lines of a block of JSON that Arrow would read otherwise than they are meant, found before it reads them.

Arrow's parser is as strict as ours but for what is looked for here; what else does not fit, it refuses with an error.
Too many lines may be suspected, never too few: those that are suspected are read one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from ghcm.runtime.data.arrays import Marks, Places
from ghcm.runtime.data.arrow import of_arrow
from ghcm.types import Struct
from ghcm.values import has_decimal

_NEWLINE, _RETURN, _OPEN, _CLOSE, _ZERO, _NINE = b"\n\r{}09"
_WORDS = r"NaN|Inf"
"""What has to be in a block for a line to be suspected of one of these numbers."""
_NUMBERS = r"[:\[,]\s*-?(?:NaN|Inf)"
"""Numbers to Arrow, nothing in JSON."""
_ESCAPES = r"\\u00[2-7]"
"""A key in ASCII that is not written as it is spelt."""
_DECIMALS = r"""[:\[,]\s*"?[+-]?(?:\.|[0-9]+\.?[0-9]*[eE]|[0-9]+\.[^0-9])"""
"""Decimals that Arrow takes and the language does not."""
_SHALLOW, _DEEPEST = 800, 400
"""Bytes up to which no line is nested too deeply for Python's parser, and how deep others may be."""
_STRIDE = 2048
"""Python reads no whole number of more than 4,300 digits; wherever one stands, two of these steps hit it."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Where the lines of a block begin and where they end, without what ends them."""

    data: bytes
    starts: Places
    ends: Places

    @classmethod
    def of(cls, data: bytes) -> Lines:
        """The lines of these bytes."""
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE)
        if not data.endswith(b"\n"):
            ends = np.append(ends, len(data))
        starts = np.zeros_like(ends)
        starts[1:] = ends[:-1] + 1
        return cls(data, starts, ends)

    def __len__(self) -> int:
        return len(self.ends)

    def line(self, number: int) -> bytes:
        """One of them (from 0)."""
        return self.data[self.starts[number] : self.ends[number]]

    def between(self, first: int, behind: int) -> memoryview:
        """Those from `first` up to `behind`, with what stands between them."""
        return memoryview(self.data)[self.starts[first] : self.ends[behind - 1]]

    def texts(self) -> pl.Series:
        """Each of them; what is not UTF-8 in it has been replaced."""
        offsets = np.append(self.starts, len(self.data))
        try:
            return _texts(self.data, offsets)
        except pl.exceptions.ComputeError:
            return pl.Series(self.data.decode("utf-8", "replace").removesuffix("\n").split("\n"))

    def chosen(self, numbers: Places) -> Lines:
        """Some of them, as a block of their own."""
        return Lines.of(b"\n".join([self.line(number) for number in numbers]))


def _texts(data: bytes | memoryview, offsets: Places) -> pl.Series:
    """The texts between these places; nothing is copied. ComputeError where one is not UTF-8."""
    arrow: Any = pa
    buffers = [None, arrow.py_buffer(offsets), arrow.py_buffer(data)]
    return of_arrow(arrow.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers), "text").cast(pl.String)


class Suspicion:
    """Says of blocks which lines have to be read one by one, for records of this schema. `by_paths`: some of its fields
    may stand in nested objects or under keys with dots.
    """

    def __init__(self, schema: Struct, *, by_paths: bool) -> None:
        decimals = has_decimal(schema)
        chosen = [_NUMBERS, *([_ESCAPES] if by_paths else []), *([_DECIMALS] if decimals else [])]
        self._pattern = "|".join(chosen)
        self._words = None if decimals else "|".join([_WORDS, *([_ESCAPES] if by_paths else [])])

    def odd(self, lines: Lines) -> Marks | None:
        """A mark for each line; None where none is suspected."""
        odd = _irregular(lines) | _large(lines)
        try:
            whole = _texts(lines.data, np.array([0, len(lines.data)]))
            words = self._words is None or whole.str.contains(self._words).item()
        except pl.exceptions.ComputeError:
            words = True
            odd |= np.fromiter((not is_text(lines.line(number)) for number in range(len(lines))), bool, len(lines))
        if words:
            odd |= lines.texts().str.contains(self._pattern).to_numpy()
        return odd if bool(odd.any()) else None


def is_text(data: bytes | memoryview) -> bool:
    """Whether the bytes are UTF-8."""
    try:
        _texts(data, np.array([0, len(data)]))
    except pl.exceptions.ComputeError:
        return False
    return True


def _irregular(lines: Lines) -> Marks:
    """Lines that are not plainly something in braces. Of the others none ends within an object: nothing in JSON lets
    `{` come behind `}` but the end of the text. So, if there are as many objects as lines, each line holds one.
    """
    at = np.frombuffer(lines.data, np.uint8)
    last = at[lines.ends - 1]
    if b"\r" in lines.data:
        last = np.where(last == _RETURN, at[lines.ends - 2], last)
    begins: Marks = at[np.minimum(lines.starts, len(at) - 1)] == _OPEN
    ends: Marks = last == _CLOSE
    return ~(begins & ends)


def _large(lines: Lines) -> Marks:
    """Lines that may be nested too deeply or hold a whole number that is too long."""
    lengths = lines.ends - lines.starts
    odd: Marks = lengths > len(lines.data)
    if lengths.max() <= _SHALLOW:
        return odd
    long = np.flatnonzero(lengths > _SHALLOW)
    texts = lines.texts().gather(long).str
    odd[long] = (texts.count_matches("[", literal=True) + texts.count_matches("{", literal=True) > _DEEPEST).to_numpy()
    at = np.frombuffer(lines.data, np.uint8)
    steps = at[::_STRIDE]
    digits = (steps >= _ZERO) & (steps <= _NINE)
    for step in np.flatnonzero(digits[1:] & digits[:-1]):
        if lines.data[step * _STRIDE : (step + 1) * _STRIDE].isdigit():
            odd[np.searchsorted(lines.ends, step * _STRIDE)] = True
    return odd
