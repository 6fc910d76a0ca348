"""From the name of a format to what decodes it: raw lines into batches, a chunk at a time; and text, the plainest.

A decoder is given the whole lines of a chunk in order; a record that does not fit is a dead letter with its raw text,
and the rest goes on. CSV records may span lines, so a decoder says how much of the chunk it has used.
"""

from __future__ import annotations

import polars as pl

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.chunks import Chunk, Decoder, Letters, count_lines, texts_of
from ghcm.runtime.formats.csv_records import CsvRecords
from ghcm.runtime.formats.json_lines import JsonLines
from ghcm.runtime.formats.zeek_log import ZeekLog
from ghcm.spg.connectors import Format
from ghcm.types import Struct

_COLUMNAR_FROM = 256


class TextLines:
    """Decodes lines of text; nothing of a file has to be known to go on in its middle."""

    def __init__(self, schema: Struct) -> None:
        self._schema = schema

    def save(self) -> object:
        """Nothing."""
        return None

    def begin(self, saved: object) -> None:
        """Nothing to do."""

    def decode(self, chunk: Chunk, letters: Letters) -> tuple[Batch, int, int]:
        """As `Decoder.decode`."""
        data = chunk.data
        lines = count_lines(data)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return self._by_line(chunk, letters), len(data), lines
        if lines < _COLUMNAR_FROM:
            return self._by_line(chunk, letters), len(data), lines
        body = pl.Series("text", [text.removesuffix("\n")]).str.split("\n").explode()
        if "\r" in text:
            body = body.str.strip_suffix("\r")
        first = chunk.number
        frame = pl.DataFrame(
            [
                body.alias("text"),
                pl.repeat(chunk.file, body.len(), dtype=pl.String, eager=True).alias("file"),
                pl.int_range(first, first + body.len(), dtype=pl.Int64, eager=True).alias("number"),
            ]
        )
        frame.columns = list(self._schema.names)
        return Batch.from_frame(self._schema, frame, partition=chunk.partition), len(data), lines

    def _by_line(self, chunk: Chunk, letters: Letters) -> Batch:
        rows: list[Row] = [(text, chunk.file, number) for number, text in texts_of(chunk, letters)]
        return Batch.from_rows(self._schema, rows, partition=chunk.partition)


def open_decoder(format_: Format, schema: Struct) -> Decoder:
    """The decoder of a format of lines for records of this schema."""
    match format_.name:
        case "json":
            return JsonLines(schema)
        case "csv":
            return CsvRecords(schema, format_.separator)
        case "zeek":
            return ZeekLog(schema)
        case _:
            return TextLines(schema)
