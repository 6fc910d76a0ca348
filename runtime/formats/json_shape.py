"""Blocks of JSON whose lines are all spelt alike: the same keys in the same order with the same signs between them, and
nothing but whole numbers and plain texts as values, as many programs write them.

Where values stand is then known by counting quotes, and what stands between them is compared eight bytes at a time,
for all lines at once. A block with a line that is spelt otherwise is left to others as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa

from ghcm.runtime.formats.json_suspects import Marks, Places

Words: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]

_QUOTE, _ZERO, _MINUS, _BLANK, _NEWLINE = b'"0- \n'
_VALUE = re.compile(rb'\s*"([^"\\]+)"\s*:\s*(?:"([^"\\]*)|(-?[0-9]+))(?=["\s,}])')
_MOMENT = re.compile(rb"(\d{4}-\d\d-\d\d)([ T])\d\d:\d\d:\d\d(?:\.(\d{1,6}))?(Z?)")
_COMMA, _CLOSE = re.compile(rb'"?\s*,'), re.compile(rb'"?\s*\}')
_WORD, _BEHIND = 8, 40
_BYTE, _COLON, _POINT = np.uint64(255), np.uint64(b":"[0]), np.uint64(b"."[0])
_ZEROS, _HIGHS, _SIXES = (np.uint64(int(digits * _WORD, 16)) for digits in ("30", "f0", "06"))
_ALL, _ONE, _HALF = np.uint64(2**64 - 1), np.uint64(1), np.uint64(32)
_INLINE = 12
"""Bytes of a text that a view holds itself."""


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of each line. `quote`: the index of the quote that opens it, or that closes the key of a number.
    `before`: the bytes between the value in front of it (or the begin of the line) and this one.
    """

    key: str
    is_text: bool
    quote: int
    before: bytes


@dataclass(frozen=True, slots=True)
class Shape:
    """How lines are spelt. `behind`: what follows the last value; `quotes`: how many a line has."""

    values: tuple[_Value, ...]
    behind: bytes
    quotes: int

    @classmethod
    def of(cls, line: bytes) -> Shape | None:
        """The shape of this line, None if it has none."""
        values: list[_Value] = []
        at, begin, quotes = 1, 0, 0
        while (found := _VALUE.match(line, at)) is not None:
            is_text = found[2] is not None
            start, end = found.span(2 if is_text else 3)
            values.append(_Value(found[1].decode(), is_text, quotes + (2 if is_text else 1), line[begin:start]))
            quotes += 4 if is_text else 2
            begin, comma = end, _COMMA.match(line, end)
            if comma is None:
                break
            at = comma.end()
        keys = {value.key for value in values}
        if not values or len(keys) < len(values) or not line.startswith(b"{") or not _CLOSE.fullmatch(line, begin):
            return None
        return cls(tuple(values), line[begin:], quotes)

    def cells(self, data: bytes) -> Cells | None:
        """Where the values of a block of whole lines, which are UTF-8, stand; None where a line is not of the shape."""
        at = np.frombuffer(data, np.uint8)
        lines = int(np.count_nonzero(at < _BLANK))
        if b"\\" in data or lines == 0 or not data.endswith(b"\n"):
            return None
        quotes = np.flatnonzero(at == _QUOTE)
        if len(quotes) != lines * self.quotes:
            return None
        quotes = np.ascontiguousarray(quotes.reshape(lines, self.quotes).T)
        begins: Places = quotes[0] - self.values[0].before.index(b'"')
        ends: Places = np.append(begins[1:], len(data)) - 1
        if begins[0] != 0 or not bool((at[ends] == _NEWLINE).all()):
            return None
        block = _Block(data)
        spans: dict[str, tuple[Places, Places]] = {}
        here = begins
        for number, value in enumerate(self.values):
            start = quotes[value.quote] + (len(value.before) - value.before.rindex(b'"'))
            if value.is_text:
                end = quotes[value.quote + 1]
            elif number + 1 < len(self.values):
                end = quotes[value.quote + 1] - self.values[number + 1].before.index(b'"')
            else:
                end = ends - len(self.behind)
            if not bool((start - here == len(value.before)).all()) or not block.has(here, value.before):
                return None
            spans[value.key], here = (start, end), end
        if not bool((ends - here == len(self.behind)).all()) or not block.has(here, self.behind):
            return None
        return Cells(block, lines, spans, {value.key: value.is_text for value in self.values})


@dataclass(frozen=True, slots=True)
class Cells:
    """The values of a block by their keys: where they begin and end in each line, and which are texts."""

    block: _Block
    lines: int
    spans: Mapping[str, tuple[Places, Places]]
    is_text: Mapping[str, bool]

    def numbers(self, key: str) -> tuple[pl.Series, Marks]:
        """Whole numbers, and in which lines is something else, or one of more than 16 digits."""
        start, end = self.spans[key]
        values, odd = self.block.numbers(start, end)
        return pl.Series(key, values), odd

    def texts(self, key: str) -> pl.Series:
        """Texts."""
        return self.block.texts(*self.spans[key]).alias(key)

    def moments(self, key: str) -> tuple[pl.Series, Marks] | None:
        """Microseconds since 1970 of texts in one form and of one day, and where one is in no form; None where they are
        not.
        """
        start, end = self.spans[key]
        first = _MOMENT.fullmatch(self.block.slice(int(start[0]), int(end[0])))
        if first is None or not bool((end - start == end[0] - start[0]).all()):
            return None
        found = self.block.moments(start, first)
        return None if found is None else (pl.Series(key, found[0]), found[1])


class _Block:
    """Bytes, of which eight are read at a time at many places."""

    def __init__(self, data: bytes) -> None:
        self._data = data + bytes(_BEHIND)  # so that the last ones have something behind them
        self._bytes = np.frombuffer(self._data, np.uint8)
        self._words: Words = np.ndarray((len(self._data) - _WORD + 1,), np.dtype("<u8"), self._data, strides=(1,))

    def has(self, at: Places, text: bytes) -> bool:
        """Whether the text stands at each of these places."""
        for start in range(0, len(text), _WORD):
            part = text[start : start + _WORD]
            wanted = np.uint64(int.from_bytes(part.ljust(_WORD, b"\0"), "little"))
            found = self._words[at + start]
            if len(part) < _WORD:
                found = found & np.uint64((1 << 8 * len(part)) - 1)
            if not bool((found == wanted).all()):
                return False
        return True

    def numbers(self, start: Places, end: Places) -> tuple[Places, Marks]:
        """As `Cells.numbers`."""
        negative: Marks = self._bytes[start] == _MINUS
        begin = start + negative
        size = end - begin
        odd: Marks = (size < 1) | (size > 2 * _WORD) | ((size > 1) & (self._bytes[begin] == _ZERO))
        value, wrong = _digits(self._words[np.maximum(end - _WORD, 0)], size)
        if bool((size > _WORD).any()):
            high, also = _digits(self._words[np.maximum(end - 2 * _WORD, 0)], size - _WORD)
            value, wrong = value + high * 10**_WORD, wrong | also
        if end[0] < 2 * _WORD:  # what is read ends with the number, and here begins before the block
            first = self.slice(int(begin[0]), int(end[0]))
            value[0], wrong[0] = (int(first), False) if first.isdigit() else (0, True)
        return np.where(negative, -value, value), odd | wrong

    def slice(self, start: int, end: int) -> bytes:
        """Some of them."""
        return self._data[start:end]

    def moments(self, start: Places, first: re.Match[bytes]) -> tuple[Places, Marks] | None:
        """As `Cells.moments`, of texts that are as long as the first."""
        day, between, decimals, behind = first.groups()
        if not self.has(start, day + between):
            return None
        hour_minute, rest = self._words[start + 11], self._words[start + 16]
        digits = [(hour_minute, at) for at in (0, 1, 3, 4)] + [(rest, 1), (rest, 2)]
        count = len(decimals or b"")
        fraction = self._words[start + 20]
        digits += [(fraction, at) for at in range(count)]
        odd: Marks = (((hour_minute >> np.uint64(16)) & _BYTE) != _COLON) | ((rest & _BYTE) != _COLON)
        if count:
            odd |= ((rest >> np.uint64(24)) & _BYTE) != _POINT
        numbers: list[Places] = []
        for words, at in digits:
            digit = ((words >> np.uint64(8 * at)) & _BYTE).astype(np.int64) - _ZERO
            odd |= (digit < 0) | (digit > 9)
            numbers.append(digit)
        if behind and not self.has(start + first.start(4), behind):
            return None
        hours, minutes, seconds = (10 * numbers[at] + numbers[at + 1] for at in (0, 2, 4))
        odd |= (hours > 23) | (minutes > 59) | (seconds > 59)
        micros = np.zeros(len(start), np.int64)
        for digit in numbers[6:]:
            micros = 10 * micros + digit
        try:
            midnight = datetime.fromisoformat(day.decode()).replace(tzinfo=UTC)
        except ValueError:
            return None
        since = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micros * 10 ** (6 - count)
        return int(midnight.timestamp()) * 1_000_000 + since, odd

    def texts(self, start: Places, end: Places) -> pl.Series:
        """As views of Arrow, which hold short texts themselves and of others four bytes and the place."""
        size = (end - start).astype(np.uint64)
        first = self._words[start]
        views: Words = np.empty((len(start), 2), np.uint64)
        views[:, 0] = size | (_first(first, size) << _HALF)
        views[:, 1] = start.astype(np.uint64) << _HALF
        short = np.flatnonzero(size <= _INLINE)
        if len(short):
            views[short, 1] = _first(self._words[start[short] + 4], np.maximum(size[short], 4) - np.uint64(4))
        arrow: Any = pa
        buffers = [None, arrow.py_buffer(views), arrow.py_buffer(self._data)]
        # a copy, for the views would keep the whole block
        return pl.Series(arrow.Array.from_buffers(arrow.string_view(), len(start), buffers).cast(arrow.large_string()))


def _first(words: Words, size: Words) -> Words:
    """Their first bytes, zeros for the others."""
    left = np.uint64(8) * np.minimum(size, np.uint64(_WORD))
    found: Words = words & np.where(left == 64, _ALL, (_ONE << (left & np.uint64(63))) - _ONE)
    return found


def _digits(words: Words, size: Places) -> tuple[Places, Marks]:
    """The numbers that the last bytes of eight say, and where these are no digits."""
    gap = np.uint64(8) * np.clip(_WORD - size, 0, _WORD - 1).astype(np.uint64)
    kept = np.where(size < 1, np.uint64(0), (words >> gap) << gap)
    zeros = np.where(size < 1, _ZEROS, _ZEROS & ((_ONE << gap) - _ONE))
    text = kept | zeros
    wrong: Marks = ((text & _HIGHS) != _ZEROS) | (((text + _SIXES) & _HIGHS) != _ZEROS)
    value = text - _ZEROS
    value = value * np.uint64(10) + (value >> np.uint64(8))
    pairs = np.uint64(0x000000FF000000FF)
    fours = (value & pairs) * np.uint64(0x000F424000000064)
    value = (fours + ((value >> np.uint64(16)) & pairs) * np.uint64(0x0000271000000001)) >> _HALF
    return value.astype(np.int64), wrong
