"""From the name of a format to what decodes it: raw lines into batches, a chunk at a time.

A decoder is given the whole lines of a chunk in order; a record that does not fit is a dead letter with its raw text,
and the rest goes on. CSV records may span lines, so a decoder says how much of the chunk it has used.
"""

from __future__ import annotations

from ghcm.runtime.formats.chunks import Decoder
from ghcm.runtime.formats.csv_records import CsvRecords
from ghcm.runtime.formats.json_lines import JsonLines
from ghcm.runtime.formats.text_lines import TextLines
from ghcm.runtime.formats.zeek_log import ZeekLog
from ghcm.spg.ops import Format
from ghcm.types import Struct


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
