"""Raw bytes of one partition into records: text, JSON lines, CSV and Zeek's logs, as strict as the language says.

Of a file that still grows the records that are whole are there, since the next byte may go on with the rest.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from ghcm.spg.connectors import Format
from ghcm.spg.reference.json_records import from_object, object_in, rows_of, spelt, whole
from ghcm.spg.reference.text_records import Bad, attempt, csv_records, numbered_lines, zeek_records
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


def whole_records(data: bytes, format_: Format) -> bytes:
    """The bytes up to the end of the last whole line, in CSV of the last whole record.

    >>> whole_records(b"a\\nb", Format("text"))
    b'a\\n'
    >>> whole_records(b'a,b\\n1,"x\\ny', Format("csv"))
    b'a,b\\n'
    """
    lines = re.findall(rb"[^\n]*\n", data)
    return b"".join(lines[: _records_end(lines, format_.separator)] if format_.name == "csv" else lines)


def _records_end(lines: list[bytes], separator: str) -> int:
    """Behind which line the last record ends that does not go on into a line that would come next."""
    texts = [line.decode(errors="replace") for line in lines]
    reader = csv.reader([*texts, "\n"], delimiter=separator)
    start = 0
    while start < len(lines):
        with suppress(csv.Error):
            next(reader)
        if reader.line_num > len(lines):
            return start
        start = reader.line_num
    return start
