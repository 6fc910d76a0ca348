"""The first lines of files: how their cells are written, and what reads the texts of these exactly."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ghcm.codegen.spark.library.doubts import Decoded, Opening
from ghcm.codegen.spark.library.files.plain_cells import Layout
from ghcm.codegen.spark.library.job import Job, Refused, refusal
from ghcm.errors import GhcmError
from ghcm.formats.csv_records import CsvRecords, csv_records
from ghcm.formats.files import UNREADABLE, open_lines
from ghcm.formats.zeek_log import ZeekLog
from ghcm.places import place
from ghcm.types import Struct

FEW_LINES, FEW_BYTES = 32, 1 << 16
"""How much is read of a file to see how it is written."""


def first_lines(job: Job, names: Sequence[str], compression: str) -> list[bytes]:
    """Some lines of the first of these files and of the last one, of those that can be read."""
    found = list[bytes]()
    for name in sorted({names[0], names[-1]}):
        with suppress(Refused, *UNREADABLE), opened_head(job, name, compression) as opened:
            data = opened.read(FEW_BYTES)
            lines = data.split(b"\n")[: FEW_LINES if len(data) < FEW_BYTES else -1]
            found += filter(None, lines[:FEW_LINES])
    return found


class Head(NamedTuple):
    """What the first lines of a file say: how many they are, how cells are written, and what reads a text exactly."""

    lines: int
    layout: Layout
    opening: Opening


@dataclass
class CellFiles:
    """Files of cells that Spark reads, by their heads, and those that are left to the exact reader."""

    heads: dict[str, Head] = field(default_factory=dict[str, Head])
    others: list[str] = field(default_factory=list[str])

    def leave(self, names: Sequence[str]) -> None:
        """Have the exact reader read these."""
        for name in names:
            del self.heads[name]
            self.others.append(name)


@contextmanager
def opened_head(job: Job, name: str, compression: str) -> Generator[BinaryIO]:
    """The lines of a file; what is wrong with its headers is refused."""
    try:
        with open_lines(place(Path(), job.where(name)), compression) as opened:
            yield opened
    except GhcmError as error:
        raise refusal(error, file=name) from None


def csv_heads(
    job: Job,
    names: Sequence[str],
    struct: Struct,
    separator: str,
    compression: str = "ending",
    *,
    own: bool = False,
    keeps_empty: bool = False,
) -> CellFiles:
    """The headers of CSV files. GhcmError where one lacks a column."""
    found, make = CellFiles(), partial(CsvRecords, struct, own=own, kept_by=separator if keeps_empty else "")
    for name in names:
        records, lines = make(), 0
        with opened_head(job, name, compression) as opened:
            for cells, raw, count in csv_records(opened, separator):
                lines += count
                if cells == []:
                    continue
                try:
                    records.take(cells, raw, name)
                except ValueError:  # a dead letter ahead of the header
                    found.others.append(name)
                break
        if records.cells is not None and records.header is not None:
            indices = tuple(records.cells.indices)
            layout = Layout(separator, len(records.header), indices, own=own, keeps_empty=keeps_empty)
            found.heads[name] = Head(lines, layout, _csv_text(make, records.header, separator))
        elif name not in found.others and lines:
            found.others.append(name)
    return found


def _csv_text(make: Callable[[], CsvRecords], header: list[str], separator: str) -> Opening:
    def open_reader() -> Callable[[bytes], Decoded]:
        records = make()
        records.begin(header)

        def found_in(record: bytes) -> Decoded:
            try:
                for cells, raw, _ in csv_records(
                    record.splitlines(keepends=True) if b"\n" in record else [record], separator
                ):
                    return records.take(cells, raw, ""), None
            except ValueError as error:
                return None, str(error)
            return None, None

        return found_in

    return open_reader


def zeek_heads(job: Job, names: Sequence[str], struct: Struct, compression: str) -> CellFiles:
    """The headers at the beginning of logs. GhcmError where they lack a column."""
    found = CellFiles()
    for name in names:
        log, lines = ZeekLog(struct), 0
        with opened_head(job, name, compression) as opened:
            for line in opened:
                if not line.startswith(b"#"):
                    break
                log.take_header(line, name)
                lines += 1
        if log.cells is None or log.header is None:
            found.others.append(name)
        else:
            settings = dict(log.settings)
            layout = Layout(
                settings["#separator"], len(log.header), tuple(log.cells.indices), log.dialect, quotes=False
            )
            found.heads[name] = Head(lines, layout, _zeek_text(struct, settings, log.header))
    return found


def _zeek_text(struct: Struct, settings: dict[str, str], header: list[str]) -> Opening:
    def open_reader() -> Callable[[bytes], Decoded]:
        log = ZeekLog(struct)
        log.begin(settings, header)

        def found_in(line: bytes) -> Decoded:
            try:
                return log.take(line, "", 0), None
            except ValueError as error:
                return None, str(error)

        return found_in

    return open_reader
