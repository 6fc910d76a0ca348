"""Lines of cells under a known header into a batch: columns at once, single records where a line is not plain."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row, columns_of, dtype
from ghcm.runtime.formats.blocks import Block, read_block
from ghcm.runtime.formats.cells import Dialect, Typed, has_columns, typed
from ghcm.runtime.formats.chunks import Chunk
from ghcm.types import Struct

COLUMNAR_FROM = 64
"""Lines from which parsing at once pays."""

_LINE, _UNSURE = "@line", "@unsure"


class CellColumns:
    """Decodes blocks of lines by the places of the fields in the header."""

    def __init__(
        self,
        schema: Struct,
        separator: str,
        width: int,
        places: Sequence[int | None],
        dialect: Dialect,
        *,
        quotes: bool,
    ) -> None:
        self._schema = schema
        self._separator = separator
        self._width = width
        self._places = places
        self._dialect = dialect
        self._quotes = quotes
        self._wanted = sorted({place for place in places if place is not None})
        self._able = bool(self._wanted) and all(
            place is None or has_columns(field.type, dialect)
            for field, place in zip(schema.fields, places, strict=True)
        )

    def decode(self, chunk: Chunk, count: int, single: Callable[[bytes, int], Row | None]) -> Batch | None:
        """The records of so many whole lines. `single` reads one line of this number (None: a dead letter) and raises
        `LookupError` where the line is none by itself; then, and where columns are of no use, None is given and nothing
        was read."""
        if not self._able or count < COLUMNAR_FROM:
            return None
        block = read_block(chunk.data, count, self._separator, self._width, self._wanted, quotes=self._quotes)
        if block is None:
            return None
        frame = self._typed(block, escapes=b"\\" in chunk.data)
        unsure = frame[_UNSURE]
        if not block.single and not unsure.any():
            return Batch.from_frame(self._schema, frame, partition=chunk.partition)
        lines = chunk.data.split(b"\n")
        numbers = [*block.single, *frame[_LINE].filter(unsure).to_list()]
        try:
            read = [(number, single(lines[number], chunk.number + number)) for number in sorted(numbers)]
        except LookupError:
            return None
        rows = [(*row, number) for number, row in read if row is not None]
        return Batch.from_frame(self._schema, self._merged(frame.filter(~unsure), rows), partition=chunk.partition)

    def _typed(self, block: Block, *, escapes: bool) -> pl.DataFrame:
        source = pl.DataFrame([block.columns[place] for place in self._wanted])
        columns: dict[str, Typed] = {}
        for field, place in zip(self._schema.fields, self._places, strict=True):
            columns[field.name] = (
                Typed(pl.lit(None, dtype=dtype(field.type)))
                if place is None
                else typed(block.columns[place], field.type, self._dialect, made=f"@made-{field.name}", escapes=escapes)
            )
        tag = columns[self._schema.fields[0].name].value
        for name, tags in self._schema.cases:  # a union has the fields of the record that its tag names
            own, found = tag.is_in(list(tags)).fill_null(False), columns[name]
            unsure = None if found.unsure is None else own & found.unsure
            columns[name] = Typed(pl.when(own).then(found.value), unsure, found.made)
        made = [each.made for each in columns.values() if each.made is not None]
        doubts = [each.unsure for each in columns.values() if each.unsure is not None]
        doubt = pl.any_horizontal(doubts) if doubts else pl.lit(False)
        for text, name, _ in self._schema.needs:
            doubt = doubt | ((tag == text) & columns[name].value.is_null()).fill_null(False)
        values = [each.value.alias(name) for name, each in columns.items()]
        frame = source.with_columns(made).select(*values, doubt.alias(_UNSURE))
        numbers = pl.Series(_LINE, block.lines, dtype=pl.Int64) if block.lines is not None else None
        return frame.with_columns(
            pl.int_range(block.height, dtype=pl.Int64).alias(_LINE) if numbers is None else numbers
        )

    def _merged(self, frame: pl.DataFrame, rows: list[Row]) -> pl.DataFrame:
        from ghcm.types import Int

        names = [*self._schema.names, _LINE]
        types = [*((field.name, field.type) for field in self._schema.fields), (_LINE, Int())]
        return pl.concat([frame.select(names), columns_of(rows, types)]).sort(_LINE)
