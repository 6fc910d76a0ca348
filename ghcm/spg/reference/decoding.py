"""Raw bytes of one partition into records: text, JSON lines, CSV and Zeek's logs, as strict as the language says.

What does not fit is a `bad_record` whose input is the raw text, with replacement characters where it is no UTF-8.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from ghcm.spg.connectors import Format
from ghcm.spg.reference.json_records import from_object, object_in
from ghcm.spg.reference.raw_text import Bad, attempt, numbered_lines
from ghcm.spg.reference.tables import rows_of, spelt
from ghcm.spg.reference.text_records import csv_records, zeek_records
from ghcm.spg.reference.whole_unions import whole
from ghcm.types import Struct


def decoded(data: bytes, file: str, format_: Format, element: Struct) -> Iterator[tuple[object, ...] | Bad]:
    """The records of one partition in order. GhcmError where a header lacks a column that the record needs."""
    match format_.name:
        case "text":
            for number, text in numbered_lines(data, file):
                yield (text, file, number) if isinstance(text, str) else text
        case "json":
            for number, text in numbered_lines(data, file):
                if isinstance(text, Bad):
                    yield text
                elif text.strip(" \t\r\n"):
                    yield attempt(text, f"{file}:{number}", partial(_from_line, text, element))
        case "csv":
            yield from csv_records(data, file, format_.separator, element)
        case "zeek":
            yield from zeek_records(data, file, element)
        case "parquet" | "arrow":
            yield from _table(data, file, format_.name, element)
        case _:
            raise ValueError(f'there is no format "{format_.name}"')


def _from_line(text: str, element: Struct) -> tuple[object, ...]:
    return whole(from_object(object_in(text), element), element)


def _from_row(row: dict[str, Any], element: Struct) -> tuple[object, ...]:
    return whole(from_object(row, element), element)


def _table(data: bytes, file: str, format_: str, element: Struct) -> Iterator[tuple[object, ...] | Bad]:
    """The rows of Parquet and Arrow files are read as JSON objects of the same content would be."""
    for number, row in enumerate(rows_of(data, file, format_, element), 1):
        text = json.dumps(spelt(row), ensure_ascii=False, separators=(",", ":"))
        yield attempt(text, f"{file}:{number}", partial(_from_row, row, element))
