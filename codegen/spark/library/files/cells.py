"""Files of cells: CSV, whose first lines name the columns, and Zeek's logs under their headers. Spark reads lines that
are plainly records; what is not a line by itself is found beforehand.

A record of CSV may hold line ends. Lines that open quotes and do not close them are looked for first; where there are
some, the lines behind them say how far these records go, and they are read as one. A log whose headers change in its
middle, and a file with more of such records than can be told apart so, is read as a whole by the exact reader.
"""

from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from ghcm.codegen.spark.library.doubts import Decoded, Opening
from ghcm.codegen.spark.library.files.plain_cells import Layout, PlainCells, escaped_separator, plain_cells
from ghcm.codegen.spark.library.files.plain_json import plainly
from ghcm.codegen.spark.library.hadoop import path_in
from ghcm.codegen.spark.library.job import Job, Step, refusal
from ghcm.codegen.spark.library.lines import LINES, exactly, handed, pieces_of, read_lines
from ghcm.codegen.spark.library.sql import matching, quoted
from ghcm.errors import GhcmError
from ghcm.formats.csv_records import CsvRecords, csv_records
from ghcm.formats.files import open_lines
from ghcm.formats.zeek_log import ZeekLog
from ghcm.places import place
from ghcm.types import Struct

FEW = 20_000
"""So many records over several lines, or headers in the middle, are told apart from lines."""
FURTHEST = 16
"""So many lines such a record may have."""


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


def read_cells(
    job: Job, step: Step, files: CellFiles, compression: str, exact: Callable[[list[str]], DataFrame]
) -> DataFrame:
    """The records of such files; `exact` reads those that are left to it."""
    apart = _records_apart(job, files, compression)
    groups: dict[tuple[int, Layout], list[str]] = {}
    for name, head in files.heads.items():
        groups.setdefault((head.lines, head.layout), []).append(name)
    parts: list[DataFrame] = []
    for (lines, layout), names in groups.items():
        plain = plain_cells(step.input, layout)
        rows = read_lines(job, names, compression).where(f"NOT (`@block` = 0 AND `@row` <= {lines})")
        rows = rows if layout.quotes else rows.where("NOT startswith(`@text`, '#')")
        rows = apart.taken_from(job, rows, {job.where(name) for name in names})
        parts.append(_decoded(job, step, rows, plain, files.heads[names[0]].opening, names, compression))
    if files.others or not parts:
        parts.append(exact(files.others))
    first, *others = parts
    for each in others:
        first = first.unionByName(each)
    return first


def _decoded(
    job: Job,
    step: Step,
    lines: DataFrame,
    plain: PlainCells | None,
    opening: Opening,
    names: Sequence[str],
    compression: str,
) -> DataFrame:
    if plain is None:
        return exactly(job, step, lines, "true", lambda _: "NULL", opening, names, compression)
    cells = f"CASE WHEN {plainly('`@text`', plain.pattern)} THEN {plain.parsed} END AS `@cells`"
    lines = lines.selectExpr("*", cells).selectExpr("*", *plain.columns)
    doubt = " OR ".join(filter(None, ("`@cells` IS NULL OR `@cells`.`@no` IS NOT NULL", plain.doubt)))
    return exactly(job, step, lines, doubt, quoted, opening, names, compression)


class Row(NamedTuple):
    """A line as it is, and where it stands."""

    text: bytes
    file: str
    block: int
    row: int


PLACES = StructType(LINES.fields[1:])
"""Where a line stands."""


@dataclass
class Apart:
    """Records over several lines, by where they begin, and all lines of theirs."""

    records: list[Row] = field(default_factory=list[Row])
    lines: list[tuple[str, int, int]] = field(default_factory=list[tuple[str, int, int]])

    def taken_from(self, job: Job, rows: DataFrame, files: set[str]) -> DataFrame:
        """The rows of these files, in which such a record is one."""
        lines = [each for each in self.lines if path_in(each[0]) in files]
        if not lines:
            return rows
        taken = F.broadcast(handed(job, lines, PLACES))
        rest = rows.join(taken, ["@file", "@block", "@row"], "left_anti").select(*LINES.names)
        of_files = [each for each in self.records if path_in(each.file) in files]
        whole = handed(job, of_files, StructType([StructField("@text", BinaryType()), *PLACES]))
        return rest.union(whole.selectExpr("CAST(`@text` AS string) AS `@text`", "`@file`", "`@block`", "`@row`"))


def _records_apart(job: Job, files: CellFiles, compression: str) -> Apart:
    """What of the files is no record line by line; files where that is not to be told are left to the exact reader."""
    if not files.heads:
        return Apart()
    separator, quotes = next((each.layout.separator, each.layout.quotes) for each in files.heads.values())
    names = {job.where(name): name for name in files.heads}
    lines = read_lines(job, list(files.heads), compression)
    if not quotes:
        _leave_changing(files, names, lines)
        return Apart()
    begun = lines.where(f"contains(`@text`, '\"') AND NOT {matching('`@text`', whole_line(separator))}")
    found = [(row[0], row[1], row[2]) for row in begun.select("@file", "@block", "@row").limit(FEW + 1).collect()]
    if len(found) > FEW:
        files.leave([names[path_in(file)] for file in {file for file, _, _ in found}])
        return _records_apart(job, files, compression)
    return _followed(job, files, lines, found, compression) if found else Apart()


def _leave_changing(files: CellFiles, names: dict[str, str], lines: DataFrame) -> None:
    """Leave logs to the exact reader whose headers change in the middle."""
    said = lines.where("startswith(`@text`, '#')").where(
        "NOT regexp_like(`@text`, '\\\\A#(close|open|path|types)\\\\b')"
    )
    rows = said.select("@file", "@block", "@row").limit(FEW).collect()
    changing = {row[0] for row in rows if row[1] or row[2] > files.heads[names[path_in(row[0])]].lines}
    files.leave([names[path_in(file)] for file in changing] if len(rows) < FEW else list(files.heads))


def whole_line(separator: str) -> str:
    """The pattern of lines that are whole records of CSV: quotes around cells are closed, others mean nothing."""
    char = escaped_separator(separator)
    cell = rf'(?:"[^"]*+(?:""[^"]*+)*+"(?![^{char}\r])|(?!")[^{char}]*+)'
    return rf"\A{cell}(?:{char}{cell})*+\r?\z"


@dataclass(frozen=True)
class Pieces:
    """The pieces of a file: the first byte of each, how many lines are before it, and how many there are in all."""

    blocks: list[int]
    before: list[int]
    end: int

    @staticmethod
    def of(counts: Sequence[tuple[int, int]]) -> "Pieces":
        """The pieces by their first bytes and lines."""
        *before, end = accumulate((count for _, count in counts), initial=0)
        return Pieces([block for block, _ in counts], before, end)

    def number(self, block: int, row: int) -> int:
        """The number in the file of a line in a piece, both from 1."""
        return self.before[self.blocks.index(block)] + row

    def place(self, number: int) -> tuple[int, int]:
        """The piece of a line, and its number there."""
        at = bisect_left(self.before, number) - 1
        return self.blocks[at], number - self.before[at]


def _followed(
    job: Job, files: CellFiles, lines: DataFrame, found: Sequence[tuple[str, int, int]], compression: str
) -> Apart:
    """The records that begin with these lines."""
    names = {job.where(name): name for name in files.heads}
    separator = next(each.layout.separator for each in files.heads.values())
    touched = sorted({file for file, _, _ in found})
    lines = lines.where(F.col("@file").isin(touched))
    counted = pieces_of(job, [names[path_in(file)] for file in touched], compression)
    pieces = {file: Pieces.of(each) for file, each in counted.items()}
    numbers = [(file, pieces[file].number(block, row)) for file, block, row in found]
    numbers = [(file, number) for file, number in numbers if number > files.heads[names[path_in(file)]].lines]
    wanted = {
        (file, *pieces[file].place(at)): at
        for file, number in numbers
        for at in range(number, min(number + FURTHEST, pieces[file].end) + 1)
    }
    asked = handed(job, [*wanted], PLACES)
    raw = lines.join(F.broadcast(asked), asked.columns).selectExpr(
        "CAST(`@text` AS binary)", *map(quoted, asked.columns)
    )
    rows = [Row(bytes(row[0]), row[1], row[2], row[3]) for row in raw.collect()] if wanted else []
    texts = {(row.file, wanted[row.file, row.block, row.row]): row for row in rows}
    apart, lost = Apart(), set[str]()
    for file in touched:
        at = sorted(number for each, number in numbers if each == file)
        if not _follow(apart, file, at, texts, pieces[file].end, separator):
            lost.add(file)
    files.leave([names[path_in(file)] for file in lost])
    return apart


def _follow(
    apart: Apart, file: str, numbers: Sequence[int], texts: dict[tuple[str, int], Row], end: int, separator: str
) -> bool:
    """Note the records of a file that begin with these lines; whether each ends where it can be seen."""
    free = 0
    for number in numbers:
        if number < free:
            continue
        last = min(number + FURTHEST, end)
        rows = [texts[file, at] for at in range(number, last + 1)]
        ended = _lines_of_record([row.text for row in rows], separator, ends=last == end)
        if ended is None:
            return False
        free = number + ended
        if ended > 1:
            first = rows[0]
            apart.records.append(first._replace(text=b"\n".join(row.text for row in rows[:ended])))
            apart.lines += [(row.file, row.block, row.row) for row in rows[:ended]]
    return True


def _lines_of_record(lines: Sequence[bytes], separator: str, *, ends: bool) -> int | None:
    """How many lines the record has that begins with the first; None where it is not whole."""
    for _, _, count in csv_records(_with_ends(lines, ends=ends), separator, last=ends):
        return count
    return None


def _with_ends(lines: Sequence[bytes], *, ends: bool = True) -> Iterator[bytes]:
    """The lines with their ends; the last has none if the file ends there."""
    yield from (line + b"\n" for line in lines[:-1])
    yield lines[-1] if ends else lines[-1] + b"\n"
