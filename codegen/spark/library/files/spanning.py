"""Records of CSV that are no line by themselves, found before lines are read, and what else only shows in a whole file.

Lines that open quotes and do not close them are looked for. Where there are some, the lines behind them say how far
these records go, and they are read as one. A log whose headers change in its middle, and a file with more of such
records than can be told apart so, is left to the exact reader.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StructField, StructType

from ghcm.codegen.spark.library.files.heads import CellFiles
from ghcm.codegen.spark.library.files.plain_cells import escaped_separator
from ghcm.codegen.spark.library.hadoop import path_in
from ghcm.codegen.spark.library.job import Job
from ghcm.codegen.spark.library.lines import LINES, handed, pieces_of, read_lines
from ghcm.codegen.spark.library.sql import matching, quoted
from ghcm.formats.csv_records import csv_records

FEW = 20_000
"""So many records over several lines, or headers in the middle, are told apart from lines."""
FURTHEST = 16
"""So many lines such a record may have."""
SHORT = 1024
"""Bytes of a line up to which it is kept when it is found."""
RARE = 100
"""Where one line in so many has quotes, or fewer, only the exact reader looks at these."""


class Row(NamedTuple):
    """A line as it is (None: a long one), where it stands, and whether it opens quotes that it does not close."""

    text: bytes | None
    file: str
    block: int
    row: int
    opens: bool = True


PLACES = StructType(LINES.fields[1:])
"""Where a line stands."""
AT_ONE_PLACE = "`all`.`@row` = `taken`.`@row`" + "".join(
    f" AND `all`.`{name}` {compared} `taken`.`{name}`" for name in ("@file", "@block") for compared in ("<=", ">=")
)
"""Of two lines. Spark finds whole numbers in a third of the time of keys of several columns: that is all it may see."""


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
        rest = rows.alias("all").join(taken.alias("taken"), F.expr(AT_ONE_PLACE), "left_anti")
        of_files = [each for each in self.records if path_in(each.file) in files]
        whole = handed(job, [row[:-1] for row in of_files], StructType([StructField("@text", BinaryType()), *PLACES]))
        return rest.union(whole.selectExpr("CAST(`@text` AS string) AS `@text`", "`@file`", "`@block`", "`@row`"))


def records_apart(job: Job, files: CellFiles, compression: str) -> Apart:
    """What of the files is no record line by line; files where that is not to be told are left to the exact reader."""
    if not files.heads:
        return Apart()
    separator, quotes = next((each.layout.separator, each.layout.quotes) for each in files.heads.values())
    names = {job.where(name): name for name in files.heads}
    lines = read_lines(job, list(files.heads), compression)
    if not quotes:
        _leave_changing(files, names, lines)
        return Apart()
    opens = f"NOT {matching('`@text`', whole_line(separator))} AS `@opens`"
    short = f"CASE WHEN octet_length(`@text`) <= {SHORT} THEN CAST(`@text` AS binary) END AS `@text`"
    with_quotes = lines.where("contains(`@text`, '\"')").selectExpr(short, *map(quoted, PLACES.names), opens)
    found, apart = _first_of(with_quotes), Apart()
    if len(found) <= FEW:
        _note_bare(files, names, found)
        left = _among(apart, files, names, found, separator)
        opening = [row for row in found if row.opens and row.file in left]
    else:
        opening = _first_of(with_quotes.where("`@opens`"))
    if len(opening) > FEW:
        files.leave([names[path_in(file)] for file in {row.file for row in opening}])
        return records_apart(job, files, compression)
    if opening:
        _followed(apart, job, files, lines, opening, compression)
    return apart


def _first_of(rows: DataFrame) -> list[Row]:
    """As many lines as are told apart, and one more."""
    return [Row(row[0] and bytes(row[0]), *row[1:]) for row in _gathered(rows, FEW + 1)]


def _gathered(rows: DataFrame, most: int) -> list[Any]:
    """Some rows. Spark would look at one piece after the other for a mere limit."""
    [found] = rows.limit(most).agg(F.collect_list(F.struct("*"))).collect()
    return list(found[0])


def _note_bare(files: CellFiles, names: dict[str, str], with_quotes: Sequence[Row]) -> None:
    """Note which files have few of these lines, beside those before the last of them."""
    counts, before = Counter[str](), dict[str, dict[int, int]]()
    for row in with_quotes:
        name = names[path_in(row.file)]
        if row.block or row.row > files.heads[name].lines:
            counts[name] += 1
            rows = before.setdefault(name, {})
            rows[row.block] = max(row.row, rows.get(row.block, 0))
    for name, head in files.heads.items():
        if counts[name] * RARE <= sum(before.get(name, {}).values()):
            files.heads[name] = head._replace(layout=replace(head.layout, bare=True))


def _among(
    apart: Apart, files: CellFiles, names: dict[str, str], with_quotes: Sequence[Row], separator: str
) -> set[str]:
    """Note the records of files where all of their lines have quotes; the other files."""
    pieces, found, left = dict[tuple[str, int], dict[int, Row]](), dict[str, Apart](), set[str]()
    for row in with_quotes:
        pieces.setdefault((row.file, row.block), {})[row.row] = row
    for (file, block), rows in pieces.items():
        head = 0 if block else files.heads[names[path_in(file)]].lines
        opening = sorted(number for number, row in rows.items() if row.opens and number > head)
        if not _follow(found.setdefault(file, Apart()), opening, rows, separator):
            left.add(file)
    for file in found.keys() - left:
        apart.records += found[file].records
        apart.lines += found[file].lines
    return left


def _leave_changing(files: CellFiles, names: dict[str, str], lines: DataFrame) -> None:
    """Leave logs to the exact reader whose headers change in the middle."""
    said = lines.where("startswith(`@text`, '#')").where(
        "NOT regexp_like(`@text`, '\\\\A#(close|open|path|types)\\\\b')"
    )
    rows = _gathered(said.select("@file", "@block", "@row"), FEW)
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
    apart: Apart, job: Job, files: CellFiles, lines: DataFrame, opening: Sequence[Row], compression: str
) -> None:
    """Note the records that begin with these lines."""
    names = {job.where(name): name for name in files.heads}
    separator = next(each.layout.separator for each in files.heads.values())
    touched = sorted({row.file for row in opening})
    lines = lines.where(F.col("@file").isin(touched))
    counted = pieces_of(job, [names[path_in(file)] for file in touched], compression)
    pieces = {file: Pieces.of(each) for file, each in counted.items()}
    numbers = [(row.file, pieces[row.file].number(row.block, row.row)) for row in opening]
    numbers = [(file, number) for file, number in numbers if number > files.heads[names[path_in(file)]].lines]
    wanted = {
        (file, *pieces[file].place(at)): at
        for file, number in numbers
        for at in range(number, min(number + FURTHEST, pieces[file].end) + 1)
    }
    asked = F.broadcast(handed(job, [*wanted], PLACES)).alias("taken")
    raw = lines.alias("all").join(asked, F.expr(AT_ONE_PLACE), "left_semi")
    raw = raw.selectExpr("CAST(`@text` AS binary)", *map(quoted, PLACES.names))
    rows = [Row(bytes(row[0]), row[1], row[2], row[3]) for row in raw.collect()] if wanted else []
    lost = set[str]()
    for file in touched:
        at = sorted(number for each, number in numbers if each == file)
        texts = {wanted[row.file, row.block, row.row]: row for row in rows if row.file == file}
        if not _follow(apart, at, texts, separator, pieces[file].end):
            lost.add(file)
    files.leave([names[path_in(file)] for file in lost])


def _follow(apart: Apart, opening: Sequence[int], known: Mapping[int, Row], separator: str, end: int = 0) -> bool:
    """Note the records that begin with these lines, of those that are known; whether each ends where it can be seen.
    `end`: the last line of the file.
    """
    free = 0
    for number in opening:
        if number < free:
            continue
        rows, texts = list[Row](), list[bytes]()
        for at in range(number, number + FURTHEST + 1):
            row = known.get(at)
            if row is None or row.text is None:
                break
            rows.append(row)
            texts.append(row.text)
        ended = _lines_of_record(texts, separator, ends=number + len(rows) - 1 == end) if texts else None
        if ended is None:
            return False
        free = number + ended
        if ended > 1:
            apart.records.append(rows[0]._replace(text=b"\n".join(texts[:ended])))
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
