"""Decodes JSON, one object a line: blocks of lines that are spelt alike by where values stand, others by Arrow, and one
by one the lines that it cannot be trusted with.

The reader of single lines (`ghcm.formats.records`) is the meaning. Where Arrow refuses a block, what is around the line
that it names is read again without it; where it names none, halves are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl

from ghcm.formats.records import json_parser, object_reader
from ghcm.runtime.data.arrays import Marks
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.cells import COLUMNAR_FROM, LINE, UNSURE, merged
from ghcm.runtime.formats.chunks import BadRecord, Chunk, Letters, texts_of
from ghcm.runtime.formats.json_columns import JsonColumns, Unfit
from ghcm.runtime.formats.json_shape import Shape
from ghcm.runtime.formats.json_suspects import Lines, Suspicion, is_text
from ghcm.runtime.formats.placed_lines import PlacedLines
from ghcm.types import Struct
from ghcm.values import has_decimal

_MOST_ALONE = 0.5
"""Of a chunk of which more lines had to be read alone, the next ones are not tried otherwise, ..."""
_PATIENCE = 16
"""... at most so many of them; so many are not tried as lines that are spelt alike where one was not."""
_PIECE, _NEAR = 2 << 20, 1 << 14
"""Bytes that are looked at together where lines are spelt alike, few enough to stay near the processor; and those
before the end of a piece among which a line nearly always ends.
"""


class JsonLines:
    """Decodes one object a line; nothing of a file has to be known to go on in its middle."""

    def __init__(self, schema: Struct) -> None:
        self._schema = schema
        self._parse = json_parser(written=has_decimal(schema))
        self._read = object_reader(schema)
        self._columns = JsonColumns(schema)
        self._suspicion = Suspicion(schema, by_paths=self._columns.by_paths)
        self._passed_over, self._patience = 0, 0
        self._shape: Shape | None = None
        self._unlike = 0

    @property
    def threads(self) -> int:
        """One of lines that are spelt alike, whose steps are short; else Arrow works long without the interpreter."""
        return 2 if self._shape is None or self._unlike else 1

    def alone(self, chunk: Chunk) -> bool:
        """Always."""
        return True

    def save(self) -> object:
        """Nothing."""
        return None

    def begin(self, saved: object) -> None:
        """Nothing to do."""

    def decode(self, chunk: Chunk, letters: Letters) -> tuple[Batch, int, int]:
        """As `Decoder.decode`."""
        count = chunk.count()
        if count < COLUMNAR_FROM or not self._columns.able or self._passed_over:
            self._passed_over = max(0, self._passed_over - 1)
            batch = Batch.from_rows(self._schema, self._rows(chunk, letters), partition=chunk.partition)
        else:
            batch = self._blocks(chunk, letters)
        return batch, len(chunk.data), count

    def _rows(self, chunk: Chunk, letters: Letters) -> list[Row]:
        """The records of all lines, one by one."""
        rows: list[Row] = []
        parse, read = self._parse, self._read
        for number, text in texts_of(chunk, letters):
            stripped = text.strip(" \t\r\n")
            if not stripped:
                continue
            try:
                rows.append(read(parse(stripped)))
            except ValueError as error:
                letters(BadRecord, f"{chunk.file}:{number}: {error}", text)
        return rows

    def alike(self, lines: PlacedLines, partition: str, letters: Letters) -> Batch | None:
        """The records of lines (from 1) that are all spelt alike; None where they are not. What fails is told as
        `decode` tells it.
        """
        found = self._alike(_pieces_of(lines)) if self._columns.able else None
        if found is None or UNSURE not in found.columns:
            return None if found is None else Batch.from_frame(self._schema, found, partition=partition)
        chunk = Chunk(lines.content(), "", 1, partition, last=True)
        return self._whole(Lines.of(chunk.data), *_sure(found, 0), chunk, letters)

    def _alike(self, pieces: Iterable[memoryview | PlacedLines]) -> pl.DataFrame | None:
        """The records of lines that are all spelt alike, as `JsonColumns.of_cells`."""
        if self._unlike:
            self._unlike -= 1
            return None
        parts: list[tuple[list[pl.Series], Marks]] = []
        for piece in pieces:
            shape = self._shape  # which another thread may change
            cells = None if shape is None else shape.cells(piece)
            if cells is None:
                self._shape = shape = Shape.of(_first_line(piece))
                cells = None if shape is None else shape.cells(piece)
            part = None if cells is None or not is_text(cells.block.text) else self._columns.of_cells(cells)
            if part is None:
                self._unlike = _PATIENCE
                return None
            parts.append(part)
        return self._columns.joined(parts)

    def _blocks(self, chunk: Chunk, letters: Letters) -> Batch:
        """The records by columns, where that can be."""
        data = chunk.data
        alike = self._alike(_pieces(memoryview(data if data.endswith(b"\n") else data + b"\n")))
        if alike is not None:
            if UNSURE not in alike.columns:
                return Batch.from_frame(self._schema, alike, partition=chunk.partition)
            return self._whole(Lines.of(chunk.data), *_sure(alike, 0), chunk, letters)
        lines = Lines.of(chunk.data)
        odd = self._suspicion.odd(lines)
        if odd is None:
            numbers, plain = np.arange(len(lines)), lines
        else:
            numbers = np.flatnonzero(~odd)
            plain = lines.chosen(numbers)
        frames, alone = self._parts(plain) if len(numbers) else ([], [])
        marked = numbers[alone] if odd is None else np.concatenate([numbers[alone], np.flatnonzero(odd)])
        single: list[int] = np.sort(marked).tolist()
        self._try_again(len(single), len(lines))
        if not single and len(frames) == 1:
            return Batch.from_frame(self._schema, frames[0].drop(LINE), partition=chunk.partition)
        found = pl.concat(frames) if frames else None
        if found is not None:
            found = found.with_columns(pl.Series(LINE, numbers[found[LINE].to_numpy()], dtype=pl.Int64))
        return self._whole(lines, found, single, chunk, letters)

    def _whole(
        self, lines: Lines, found: pl.DataFrame | None, single: list[int], chunk: Chunk, letters: Letters
    ) -> Batch:
        """What was found, and what is read of single lines, in order."""
        rows = [(*row, number) for number in single for row in self._one(lines, number, chunk, letters)]
        if found is None:
            return Batch.from_rows(self._schema, [row[:-1] for row in rows], partition=chunk.partition)
        return Batch.from_frame(self._schema, merged(self._schema, found, rows), partition=chunk.partition)

    def _one(self, lines: Lines, number: int, chunk: Chunk, letters: Letters) -> list[Row]:
        one = Chunk(lines.line(number) + b"\n", chunk.file, chunk.number + number, chunk.partition, last=True)
        return self._rows(one, letters)

    def _try_again(self, alone: int, count: int) -> None:
        """Say what is done about the next chunks."""
        if alone > _MOST_ALONE * count:
            self._patience = min(_PATIENCE, 2 * self._patience + 1)
            self._passed_over = self._patience
        else:
            self._patience = 0

    def _parts(self, lines: Lines) -> tuple[list[pl.DataFrame], list[int]]:
        """The records of what Arrow can read, with their lines, and the lines that are left."""
        frames: list[pl.DataFrame] = []
        alone: list[int] = []
        ranges = [(0, len(lines))]
        while ranges:
            first, behind = ranges.pop()
            if behind - first < COLUMNAR_FROM:
                alone += range(first, behind)
                continue
            try:
                frames.append(self._part(lines, first, behind, alone))
            except Unfit as error:
                if error.row is None or not 0 <= error.row <= behind - first:
                    half = (first + behind) // 2
                    ranges += [(half, behind), (first, half)]
                else:  # a line that goes on behind its object is noticed where the next one begins
                    before, after = max(first, first + error.row - 1), min(behind, first + error.row + 1)
                    alone += range(before, after)
                    ranges += [(after, behind), (first, before)]
        return frames, alone

    def _part(self, lines: Lines, first: int, behind: int, alone: list[int]) -> pl.DataFrame:
        """Those of some lines; what has to be looked at again is left `alone`. Raises `Unfit`."""
        try:
            sample = self._parse(lines.line(first).decode())
        except ValueError:
            raise Unfit(0) from None
        frame, unsure = _sure(self._columns.read(lines.between(first, behind), behind - first, sample), first)
        alone += unsure
        return frame


def _pieces(data: memoryview) -> Iterator[memoryview]:
    """Lines, each with its end, some at a time."""
    start = 0
    while start < len(data):
        end = _end_of_lines(data, start)
        yield data[start:end]
        start = end


def _pieces_of(lines: PlacedLines) -> Iterator[PlacedLines]:
    """These, some at a time."""
    first = 0
    while first < len(lines):
        behind = max(first + 1, int(np.searchsorted(lines.ends, int(lines.starts[first]) + _PIECE)))
        yield lines.slice(first, behind)
        first = behind


def _first_line(piece: memoryview | PlacedLines) -> bytes:
    return piece.line(0) if isinstance(piece, PlacedLines) else bytes(piece).partition(b"\n")[0]


def _end_of_lines(data: memoryview, start: int) -> int:
    """Where the last line ends of a piece that begins here; where all ends, if none does."""
    stop = min(start + _PIECE, len(data))
    for size in (_NEAR, _PIECE):
        near = max(start, stop - size)
        if end := bytes(data[near:stop]).rfind(b"\n") + 1:
            return near + end
    return len(data)


def _sure(frame: pl.DataFrame, first: int) -> tuple[pl.DataFrame, list[int]]:
    """The records of which one can be sure, with their lines (from `first`), and the lines of the others."""
    placed = frame.with_columns(pl.int_range(first, first + frame.height, dtype=pl.Int64).alias(LINE))
    if UNSURE not in frame.columns:
        return placed, []
    unsure: Any = frame[UNSURE]
    return placed.filter(~unsure).drop(UNSURE), placed.filter(unsure)[LINE].to_list()
