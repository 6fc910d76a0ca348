"""What of a file that still grows is there: the records that are whole, since the next byte may go on with the rest."""

from __future__ import annotations

import csv
import re
from contextlib import suppress

from ghcm.spg.connectors import Format


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
