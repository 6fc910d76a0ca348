"""Blocks of lines of separated cells, parsed at once: columns of text, and the lines that have to be read one by one.

Nothing is decided here about a line that is not plainly a record: one with quotes, without anything or with another
number of cells is handed back, and a block in which lines cannot be told apart with certainty is not read at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv as arrow_csv

_ODD_BEGIN = b"\xef\xbb\xbf"
_EMPTY = (b"", b"\r")


@dataclass(frozen=True, slots=True)
class Block:
    """The cells of the plain lines by column of the file, and the lines (from 0) that they stand on; None: all lines.

    `single` are the lines that have to be read one by one.
    """

    columns: dict[int, pl.Series]
    height: int
    lines: list[int] | None
    single: list[int]


def read_block(
    data: bytes, count: int, separator: str, width: int, wanted: Sequence[int], *, quotes: bool
) -> Block | None:
    """The wanted columns of so many whole lines that have `width` cells each; None where that is left to others.
    `quotes`: they mean something.
    """
    if not wanted or data.startswith(_ODD_BEGIN):
        return None
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        return None
    plain: list[int] | None = None
    single: list[int] = []
    quoted = quotes and b'"' in data
    if quoted or _has_empty_lines(data) or not _is_text(data):
        lines = data.removesuffix(b"\n").split(b"\n")
        odd = {
            number
            for number, line in enumerate(lines)
            if line in _EMPTY or (quoted and b'"' in line) or not _is_text(line)
        }
        single, plain = sorted(odd), [number for number in range(len(lines)) if number not in odd]
        if len(plain) < len(single):
            return None
        data = b"\n".join([lines[number] for number in plain]) + b"\n"
    ragged: list[int] = []
    table = _parse(data, separator, width, wanted, ragged)
    if table.num_rows + len(ragged) + len(single) != count:
        return None
    if ragged:
        numbers = plain if plain is not None else range(table.num_rows + len(ragged))
        wrong = set(ragged)
        single = sorted([*single, *(numbers[place] for place in ragged)])
        plain = [number for place, number in enumerate(numbers) if place not in wrong]
    columns = {place: pl.Series(str(place), table.column(str(place))) for place in wanted}
    return Block(columns, table.num_rows, plain, single)


def _has_empty_lines(data: bytes) -> bool:
    """Of which Arrow does not tell."""
    return data.startswith((b"\n", b"\r\n")) or b"\n\n" in data or b"\n\r\n" in data


def _is_text(data: bytes) -> bool:
    """Whether it is UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _parse(data: bytes, separator: str, width: int, wanted: Sequence[int], ragged: list[int]) -> pa.Table:
    """The table of the lines that have as many cells as they should; the numbers (from 0) of the others are noted."""

    def note(row: Any) -> str:
        ragged.append(row.number - 1)
        return "skip"

    names = [str(place) for place in range(width)]
    chosen = [str(place) for place in wanted]
    arrow: Any = arrow_csv
    table: pa.Table = arrow.read_csv(
        pa.BufferReader(data),
        arrow.ReadOptions(use_threads=False, column_names=names, block_size=len(data) + 1),
        arrow.ParseOptions(delimiter=separator, quote_char=False, invalid_row_handler=note),
        arrow.ConvertOptions(
            include_columns=chosen,
            column_types=dict.fromkeys(chosen, pa.string()),
            strings_can_be_null=False,
            check_utf8=False,
        ),
    )
    return table
