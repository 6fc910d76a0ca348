"""Blocks of JSON whose lines are all spelt alike: the same keys in the same order with the same signs between them, and
nothing but whole numbers and plain texts as values, as many programs write them.

Where values stand is then known by counting quotes, and what stands between them is compared sixteen bytes at a time,
for all lines and places at once. A block with a line that is spelt otherwise is left to others as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from ghcm.runtime.data.arrays import Marks, Places, Words
from ghcm.runtime.data.arrow import bytes_of, of_arrow
from ghcm.runtime.formats.placed_lines import PlacedLines

_QUOTE, _ZERO, _MINUS, _BLANK, _ESCAPE = b'"0- \\'
_VALUE = re.compile(rb'\s*"([^"\\]+)"\s*:\s*(?:"([^"\\]*)|(-?[0-9]+))(?=["\s,}])')
_MOMENT = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d((?:\.(\d{1,6}))?Z?)")
_DATE, _DIGIT = re.compile(rb"(\d{4}-\d\d-\d\d)[ T]"), re.compile(rb"\d")
_COMMA, _CLOSE = re.compile(rb'"?\s*,'), re.compile(rb'"?\s*\}')
_WORD, _BEFORE, _BEHIND = 8, bytes(16), bytes(40)
_HALF, _EPOCH = np.uint64(32), date(1970, 1, 1).toordinal()
_INLINE = 12
"""Bytes of a text that a view holds itself."""
_DAY, _TIME, _MOST_DAYS = 11, 8, 8
"""Bytes of a day with what follows it, and of the time of that day up to its seconds; and days of a block."""


def _word(text: bytes) -> np.uint64:
    """Eight bytes at most as they are read of memory."""
    return np.uint64(int.from_bytes(text, "little"))


_ZEROS, _HIGHS, _SIXES = (_word(digit * _WORD) for digit in (b"0", b"\xf0", b"\x06"))
_PAIRS = _word(b"\xff\0\0\0\xff\0\0\0")
_COLONS = _word(b"00:00:00")
_CLOCK, _NO_CLOCK = _word(b"\6\6\0\6\6\0\6\6"), _word(b"\xf0\xf0\xff\xf0\xf0\xff\xf0\xf0")
"""What makes digits no more than digits of a time, but others more, ..."""
_LATER, _OVER = _word(bytes((128 - 24, 0, 0, 128 - 60, 0, 0, 128 - 60))), _word(b"\x80\0\0\x80\0\0\x80")
"""... and hours, minutes and seconds that there are not."""
_LAST = np.array([2**64 - 2 ** (64 - 8 * size) for size in range(_WORD + 1)], np.uint64)
"""What keeps the last bytes of eight, by how many they are."""
_FIRST = np.array([2 ** (8 * size) - 1 for size in range(_WORD + 1)], np.uint64)


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of each line. `quote`: the index of the quote that opens it, or that closes the key of a number.
    `before`: the bytes between the value in front of it (or the begin of the line) and this one.
    """

    key: str
    is_text: bool
    quote: int
    before: bytes


@dataclass(frozen=True)
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

    def cells(self, lines: bytes | memoryview | PlacedLines) -> Cells | None:
        """Where the values of whole lines stand; None where a line is not of the shape."""
        head, tail = self.values[0].before, self.behind + b"\n"
        block = _Block.around(lines) if isinstance(lines, PlacedLines) else _Block.of(lines, head)
        count, found = block.quotes() if block.is_plain(head, tail) else (0, np.empty(0, np.int64))
        if count == 0 or len(found) != count * self.quotes:
            return None
        quotes = found.reshape(count, self.quotes).T.astype(np.int32, order="C")
        placed = block.lines
        if placed is not None and len(placed.ends) != count:
            return None
        close = self._closes(quotes[0], block.end) if placed is None else placed.ends
        starts, ends = self._spans(quotes, close)
        if not bool((starts[1:] - ends[:-1] == self._gaps).all() and (close - ends[-1] == len(self.behind)).all()):
            return None
        if placed is None:
            return Cells(block, self.values, starts, ends) if block.has(ends, self._between) else None
        begin = placed.starts[None]
        is_so = bool((starts[:1] - begin == len(head)).all()) and block.has(begin, _Between.of([head]))
        return Cells(block, self.values, starts, ends) if is_so and block.has(ends, self._within) else None

    def _closes(self, first_quotes: Places, end: int) -> Places:
        """Where lines end that follow one another."""
        return np.append(first_quotes[1:] - (self.values[0].before.index(b'"') + 1), np.int32(end - 1))

    def _spans(self, quotes: Places, close: Places) -> tuple[Places, Places]:
        """Where the values of each line, which ends there, begin and end, one row for each value."""
        starts = quotes[[value.quote for value in self.values]]
        starts += np.array([[len(each.before) - each.before.rindex(b'"')] for each in self.values])
        ends = np.empty_like(starts)
        for row, value in enumerate(self.values):
            if value.is_text:
                ends[row] = quotes[value.quote + 1]
            elif row + 1 < len(self.values):
                np.subtract(quotes[value.quote + 1], self.values[row + 1].before.index(b'"'), out=ends[row])
            else:
                np.subtract(close, len(self.behind), out=ends[row])
        return starts, ends

    @cached_property
    def _gaps(self) -> Places:
        return np.array([[len(value.before)] for value in self.values[1:]], np.int32).reshape(-1, 1)

    @cached_property
    def _between(self) -> _Between:
        return self._behind_values(self.values[0].before)

    @cached_property
    def _within(self) -> _Between:
        return self._behind_values(b"")

    def _behind_values(self, next_line: bytes) -> _Between:
        """What stands behind the values of a line, up to this of the next one."""
        following = [value.before for value in self.values[1:]]
        return _Between.of([*following, self.behind + b"\n" + next_line])


@dataclass(frozen=True, slots=True)
class Cells:
    """The values of a block: where they begin and end in each line, a row for each value."""

    block: _Block
    values: tuple[_Value, ...]
    starts: Places
    ends: Places

    @property
    def lines(self) -> int:
        """How many there are."""
        return len(self.starts[0])

    @property
    def is_text(self) -> Mapping[str, bool]:
        """Which keys have texts."""
        return {value.key: value.is_text for value in self.values}

    def numbers(self, keys: Iterable[str]) -> tuple[dict[str, pl.Series], Marks]:
        """Those of these keys that are whole numbers; and the lines in which a number of any key is something else, or
        one of more than 16 digits.
        """
        wanted = set(keys)
        rows = [row for row, value in enumerate(self.values) if not value.is_text]
        rows.sort(key=lambda row: self.values[row].key not in wanted)
        names = [self.values[row].key for row in rows if self.values[row].key in wanted]
        if not rows:
            return {}, np.zeros(self.lines, bool)
        values, odd = self.block.numbers(self.starts[rows], self.ends[rows], len(names))
        either: Marks = np.logical_or.reduce(odd)
        return {name: pl.Series(name, row) for name, row in zip(names, values, strict=True)}, either

    def texts(self, key: str) -> pl.Series:
        """Texts."""
        return self.block.texts(*self._span(key)).alias(key)

    def moments(self, key: str) -> tuple[pl.Series, Marks] | None:
        """Microseconds since 1970 of texts in one form, and where one is none; None where they are in several forms, or
        of many days.
        """
        start, end = self._span(key)
        first = _MOMENT.fullmatch(self.block.slice(int(start[0]), int(end[0])))
        if first is None or not bool((end - start == end[0] - start[0]).all()):
            return None
        found = self.block.moments(start, first)
        return None if found is None else (pl.Series(key, found[0]), found[1])

    def _span(self, key: str) -> tuple[Places, Places]:
        row = next(row for row, value in enumerate(self.values) if value.key == key)
        return self.starts[row], self.ends[row]


@dataclass(frozen=True, slots=True)
class _Between:
    """What stands behind values, in parts of sixteen bytes: the row of the value and how far behind it, what is kept of
    the two halves of a part, and what these are.
    """

    rows: list[int]
    away: Places
    kept: Words
    wanted: Words

    @classmethod
    def of(cls, texts: list[bytes]) -> _Between:
        """Of the text behind each value."""
        size = 2 * _WORD
        parts = [(row, at, text[at : at + size]) for row, text in enumerate(texts) for at in range(0, len(text), size)]
        halves = [(part[:_WORD], part[_WORD:]) for _, _, part in parts]
        return cls(
            [row for row, _, _ in parts],
            np.array([[at] for _, at, _ in parts], np.int32),
            np.array([[[_FIRST[len(half)]] for half in pair] for pair in halves], np.uint64),
            np.array([[[_word(half)] for half in pair] for pair in halves], np.uint64),
        )


@cache
def _places(size: int) -> pl.Series:
    return pl.int_range(size, dtype=pl.UInt32, eager=True)


class _Block:
    """Whole lines in memory, of which eight bytes are read at a time at many places, from 16 in front of the lines to
    40 behind them. `lines`: where each stands, if that is known.
    """

    def __init__(self, memory: bytes | memoryview, end: int, lines: PlacedLines | None = None) -> None:
        self._data = memory
        self._bytes = np.frombuffer(memory, np.uint8)
        self._words: Words = _at_each(memory, "<u8")
        self._pairs = _at_each(memory, "<c16")
        self.end = end
        self.lines = lines

    @classmethod
    def of(cls, data: bytes | memoryview, behind: bytes) -> _Block:
        """Lines that follow one another, as if this followed them."""
        return cls(b"".join((_BEFORE, data, behind, _BEHIND)), len(_BEFORE) + len(data))

    @classmethod
    def around(cls, lines: PlacedLines) -> _Block:
        """These, where they are if there is room around them."""
        first, behind = int(lines.starts[0]), int(lines.ends[-1]) + 1
        begin, stop = first - len(_BEFORE), behind + len(_BEHIND)
        if begin >= 0 and stop <= len(lines.memory):
            memory: bytes | memoryview = lines.memory[begin:stop].data
        else:
            memory = b"".join((_BEFORE, lines.memory[first:behind].data, _BEHIND))
        return cls(memory, behind - begin, lines.moved(-begin))

    def is_plain(self, head: bytes, tail: bytes) -> bool:
        """Whether they begin and end with these and nothing in them is escaped."""
        begin, end = len(_BEFORE), self.end
        ends = self.slice(begin, begin + len(head)) == head and self.slice(end - len(tail), end) == tail
        return ends and not (bytes_of(self.text) == _ESCAPE).any()

    @property
    def text(self) -> memoryview:
        """The bytes of the lines."""
        return memoryview(self._data)[len(_BEFORE) : self.end]

    def quotes(self) -> tuple[int, Places]:
        """How many lines there are, if nothing else is below a blank, and where quotes stand."""
        found = bytes_of(self.text)
        places = _places(1 << self.end.bit_length()).slice(len(_BEFORE), len(found))
        return int((found < _BLANK).sum()), places.filter(found == _QUOTE).to_numpy()

    def has(self, ends: Places, between: _Between) -> bool:
        """Whether these texts stand behind the values that end there."""
        places = ends[between.rows]
        places += between.away
        found = self._pairs[places].view(np.uint64)
        halves = (found[:, 0::2], found[:, 1::2])
        return all(
            bool(((half & between.kept[:, at]) == between.wanted[:, at]).all()) for at, half in enumerate(halves)
        )

    def numbers(self, start: Places, end: Places, wanted: int) -> tuple[Places, Marks]:
        """The first `wanted` rows of numbers, and marks of all rows: where one is none, or has more than 16 digits."""
        first = self._bytes[start]
        negative: Marks = first == _MINUS
        signed = bool(negative.any())
        if signed:
            start = start + negative
            first = self._bytes[start]
        size = end - start
        odd: Marks = (first == _ZERO) & (size > 1)
        if size.min() < 1 or size.max() > 2 * _WORD:
            odd |= (size < 1) | (size > 2 * _WORD)
            size = size.clip(0, 2 * _WORD)
        value, wrong = _digits(self._words[end - _WORD], np.minimum(size, _WORD), wanted)
        odd |= wrong
        if size.max() > _WORD:
            high, wrong = _digits(self._words[end - 2 * _WORD], np.maximum(size - _WORD, 0), wanted)
            value += high * 10**_WORD
            odd |= wrong
        return np.where(negative[:wanted], -value, value) if signed else value, odd

    def slice(self, start: int, end: int) -> bytes:
        """Some of the bytes."""
        return bytes(self._data[start:end])

    def moments(self, start: Places, first: re.Match[bytes]) -> tuple[Places, Marks] | None:
        """As `Cells.moments`, of texts that are as long as the first."""
        behind, decimals = first.groups()
        found = self._midnights(start)
        if found is None:
            return None
        micros, odd = found
        time = self._words[start + _DAY] ^ _COLONS
        odd |= ((time + _CLOCK) | time) & _NO_CLOCK != 0
        pairs = time * np.uint64(10) + (time >> np.uint64(8))
        odd |= (pairs + _LATER) & _OVER != 0
        for away, each in ((0, 3_600_000_000), (24, 60_000_000), (48, 1_000_000)):
            micros += ((pairs >> np.uint64(away)) & np.uint64(255)).view(np.int64) * each
        if behind:
            count = len(decimals or b"")
            spelt = _DIGIT.sub(b"0", behind)
            rest = (self._words[start + (_DAY + _TIME)] & _FIRST[len(spelt)]) ^ _word(spelt)
            digits = np.uint64(15) * (_SIXES // np.uint64(6) & _FIRST[1 + count] & ~_FIRST[1])
            odd |= ((rest + (_SIXES & digits)) | rest) & ~digits != 0
            micros += _eight(rest << np.uint64(8))
        return micros, odd

    def _midnights(self, start: Places) -> tuple[Places, Marks] | None:
        """Microseconds up to the days that are written at these places, and where it is none; None of many days."""
        begin, end = self._words[start], self._words[start + (_DAY - _WORD)]
        micros: Places = np.zeros(len(start), np.int64)
        odd: Marks = np.zeros(len(start), bool)
        left = np.arange(len(start))
        for _ in range(_MOST_DAYS):
            here = left[0]
            alike = (begin[left] == begin[here]) & (end[left] == end[here])
            odd[left[alike]] = True
            if day := _DATE.fullmatch(self.slice(int(start[here]), int(start[here]) + _DAY)):
                with suppress(ValueError):
                    micros[left[alike]] = (date.fromisoformat(day[1].decode()).toordinal() - _EPOCH) * 86_400_000_000
                    odd[left[alike]] = False
            left = left[~alike]
            if not len(left):
                return micros, odd
        return None

    def texts(self, start: Places, end: Places) -> pl.Series:
        """As views of Arrow, which hold short texts themselves and of others four bytes and the place."""
        size = (end - start).astype(np.uint64)
        first = self._words[start]
        views: Words = np.empty((len(start), 2), np.uint64)
        np.left_shift(start.astype(np.uint64), _HALF, out=views[:, 1])
        short = np.flatnonzero(size <= _INLINE)
        if len(short):
            few = size[short]
            first[short] &= _FIRST[np.minimum(few, _WORD)]
            views[short, 1] = self._words[start[short] + 4] & _FIRST[np.maximum(few, 4) - np.uint64(4)]
        np.bitwise_or(first << _HALF, size, out=views[:, 0])
        arrow: Any = pa
        buffers = [None, arrow.py_buffer(views), arrow.py_buffer(self._data)]
        found = of_arrow(arrow.Array.from_buffers(arrow.string_view(), len(start), buffers))
        # a copy, for the views would keep the whole block
        return of_arrow(found.to_arrow(compat_level=pl.CompatLevel.oldest()))


def _at_each(data: bytes | memoryview, type_: str) -> Any:
    """What is read of memory at each byte."""
    read = np.dtype(type_)
    return np.ndarray((len(data) - read.itemsize + 1,), read, data, strides=(1,))


def _digits(words: Words, size: Places, wanted: int) -> tuple[Places, Marks]:
    """The numbers that the last bytes of eight say, of the first `wanted` rows, and where these are no digits."""
    digits = words ^ _ZEROS
    digits &= _LAST[size]
    return _eight(digits[:wanted]), ((digits + _SIXES) | digits) & _HIGHS != 0


def _eight(digits: Words) -> Places:
    """The numbers of eight digits, a digit in each byte."""
    value = digits * np.uint64(10)
    value += digits >> np.uint64(8)
    fours = value & _PAIRS
    fours *= np.uint64(0x000F424000000064)
    value >>= np.uint64(16)
    value &= _PAIRS
    value *= np.uint64(0x0000271000000001)
    value += fours
    value >>= _HALF
    return value.view(np.int64)
