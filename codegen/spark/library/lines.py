"""Files and other sources: what a path means, its lines, and where each line stands."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType

from ghcm.codegen.spark.library.doubts import Gathered, Opening, settled
from ghcm.codegen.spark.library.hadoop import path_in, path_sql, spark_path
from ghcm.codegen.spark.library.job import Failures, Job, Step, letters, parted, refusal
from ghcm.codegen.spark.library.sql import text, when
from ghcm.codegen.spark.library.types import plain_fields, record_columns
from ghcm.errors import GhcmError
from ghcm.formats.files import find_files as files_of
from ghcm.formats.files import nothing_to_read, open_lines, packed
from ghcm.places import place
from ghcm.stores import scheme_of

_PIECE = 1 << 20
"""Bytes of lines that are taken at once."""


def find_files(job: Job, step: Step, pattern: str, compression: str = "ending") -> list[str]:
    """The files that a path, directory or pattern means, as it names them, in order."""
    job.at = step
    try:
        found = files_of(pattern, Path(job.where(".")))
        if not found:
            raise nothing_to_read(pattern, Path(job.where(".")))
    except GhcmError as error:
        raise refusal(error) from None
    job.reading.update((name, (step, compression)) for name in found)
    return found


def is_sparks(job: Job, name: str, compression: str) -> bool:
    """Whether Spark itself reads a file as it is meant: it goes by the ending, has no codec for zstd everywhere, and
    not the client of every store.
    """
    if spark_path(job.spark, job.where(name)) is None:
        return False
    by_ending = os.path.splitext(name)[1] in (".gz", ".bz2", ".deflate", ".lz4", ".snappy", ".zst", ".zstd")
    kind = packed(Path(name).suffix, compression)
    return (kind == "gzip" and name.endswith(".gz")) or (kind == "none" and not by_ending)


def spark_paths(job: Job, names: Sequence[str]) -> list[str]:
    """Files that Spark reads, as it is told of them."""
    found = (spark_path(job.spark, job.where(name)) for name in names)
    return [escaped(path) for path in found if path is not None]


def listed(job: Job, names: Mapping[str, str]) -> DataFrame:
    """The files as rows `file`, the text beside their names, and `path`, for Python workers to read."""
    paths = [(said, job.where(name)) for name, said in names.items()]
    return job.spark.createDataFrame(paths, "file string, path string").repartition(max(1, len(paths)))


WHOLE = 128 * 1024 * 1024
"""Bytes up to which a file is read in one piece; SETTINGS has Spark read every piece as a partition of its own."""


def read_lines(job: Job, names: Sequence[str], compression: str = "ending") -> DataFrame:
    """The lines of files: `@text`, perhaps with a carriage return at its end, `@file`, and where they stand in it:
    `@block` and `@row`.
    """
    own = [name for name in names if is_sparks(job, name, compression)]
    others = [name for name in names if not is_sparks(job, name, compression)]
    lines = spark_lines(job, own) if own else empty(job, LINES)
    if not others:
        return lines
    unpacked = listed(job, {name: url_of(job, name) for name in others}).mapInArrow(line_reader(compression), LINES)
    return lines.unionByName(unpacked) if own else unpacked


def spark_lines(job: Job, names: Sequence[str]) -> DataFrame:
    """The lines of files that Spark reads itself. What `_metadata` says of files would be made for each of them."""
    lines = job.spark.read.option("lineSep", "\n").text(spark_paths(job, names))
    return lines.selectExpr(
        "value AS `@text`",
        "input_file_name() AS `@file`",
        "input_file_block_start() AS `@block`",
        f"(monotonically_increasing_id() & {2**33 - 1}L) + 1 AS `@row`",
    )


def url_of(job: Job, name: str) -> str:
    """A file as Spark names it."""
    return quote(name, safe=":/@") if scheme_of(name) is not None else Path(job.where(name)).as_uri()


def file_name(job: Job, names: Sequence[str], url: str = "`@file`") -> str:
    """The name of the file of a line, one of these, as the program says it, in SQL."""
    here = [name for name in names if scheme_of(name) is None]
    folders = [os.path.join(os.path.dirname(name), "") for name in here]
    lead = os.path.commonprefix(folders)  # noqa: RUF071  what is not a whole folder is cut off
    lead = lead[: lead.rfind("/") + 1]
    name = name_behind(os.path.abspath(job.where(lead or ".")), url)
    return f"if(startswith({url}, 'file:'), concat({text(lead)}, {name}), {path_sql(url)})"


def name_behind(folder: str, url: str = "_metadata.file_path") -> str:
    """The name in a folder of the file that Spark reads, in SQL."""
    return f"substring({path_sql(url)}, {len(os.path.join(folder, '')) + 1})"


LINES = StructType(
    [
        StructField("@text", StringType()),
        StructField("@file", StringType()),
        StructField("@block", LongType()),
        StructField("@row", LongType()),
    ]
)


BROKEN_LINES = StructType([*LINES.fields, StructField("@broken", StringType())])

LINE_COLUMNS = ("`@text` AS `text`", "`@file` AS `file`", "`@number` AS `number`")
"""The columns of the record `Line`."""


def numbers_behind(behind: int, count: int) -> Any:
    """So many numbers behind one, as an Arrow array."""
    import pyarrow
    from pyarrow import compute

    arrow: Any = pyarrow
    functions: Any = compute
    return functions.cumulative_sum(arrow.repeat(arrow.scalar(1), count), start=arrow.scalar(behind))


def line_reader(compression: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that reads lines in Spark's Python workers."""

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        arrow: Any = pyarrow
        for batch in batches:
            for file, path in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                with open_lines(place(Path(), path), compression) as opened:
                    number = 0
                    for texts in map(lines_of, whole_lines(opened)):
                        count = len(texts)
                        names = arrow.repeat(arrow.scalar(file), count)
                        blocks = arrow.repeat(arrow.scalar(0), count)
                        numbers = numbers_behind(number, count)
                        yield arrow.record_batch([texts, names, blocks, numbers], names=LINES.fieldNames())
                        number += count

    return read


def whole_lines(opened: BinaryIO) -> Iterator[bytes]:
    """The bytes of a file in pieces that end where a line does, without the end of the last one."""
    begun: list[bytes] = []
    while data := opened.read(_PIECE):
        end = data.rfind(b"\n")
        if end < 0:
            begun.append(data)
        else:
            yield b"".join([*begun, data[:end]])
            begun = [data[end + 1 :]]
    if rest := b"".join(begun):
        yield rest


def lines_of(data: bytes) -> Any:
    """Lines as texts."""
    import pyarrow
    from pyarrow import compute

    functions: Any = compute
    return functions.split_pattern(pyarrow.array([data], pyarrow.binary()), "\n").flatten().view(pyarrow.string())


WITHOUT_RETURN = when(f"endswith(`@text`, {text(chr(13))})", "left(`@text`, char_length(`@text`) - 1)", "`@text`")
"""A line without the carriage return before its end."""


def numbered(job: Job, lines: DataFrame, names: Sequence[str], compression: str = "ending") -> DataFrame:
    """The lines of some of these files with `@number`, from 1, and the names of the files. In one of several pieces,
    the lines of the pieces before are counted first.
    """
    name, cut = file_name(job, names), [name for name in names if is_sparks(job, name, compression)]
    if not any(place(Path(), job.where(name)).stat().st_size > WHOLE for name in cut if not name.endswith(".gz")):
        return lines.withColumns({"@number": F.expr("`@row`"), "@file": F.expr(name)})
    before: list[tuple[str, int, int]] = []
    for file, pieces in pieces_of(job, names, compression).items():
        ends = accumulate((count for _, count in pieces), initial=0)
        before += [(file, block, end) for (block, _), end in zip(pieces, ends, strict=False)]
    known = handed(job, before, PIECES)
    joined = lines.join(F.broadcast(known), ["@file", "@block"])
    return joined.withColumns({"@number": F.expr("`@row` + `@before`"), "@file": F.expr(name)}).drop("@before")


PIECES = StructType([*LINES.fields[1:3], StructField("@before", LongType())])
"""How many lines of a file are before a piece."""


def pieces_of(job: Job, names: Sequence[str], compression: str) -> dict[str, list[tuple[int, int]]]:
    """The first byte of each piece of files and its lines, which are counted once in a run; by the files as Spark names
    them.
    """
    if fresh := [name for name in names if (job.where(name), compression) not in job.pieces]:
        found: dict[str, list[tuple[int, int]]] = {}
        rows: list[Any] = read_lines(job, fresh, compression).groupBy("@file", "@block").count().collect()
        for row in sorted(rows):
            found.setdefault(str(row[0]), []).append((int(row[1]), int(row[2])))
        by_path = {path_in(file): {file: pieces} for file, pieces in found.items()}
        job.pieces |= {(where, compression): by_path.get(where, {}) for where in map(job.where, fresh)}
    return {file: each for name in names for file, each in job.pieces[job.where(name), compression].items()}


def handed(job: Job, rows: Sequence[tuple[Any, ...]], schema: StructType) -> DataFrame:
    """Rows that this process holds, by columns: of tuples Spark would ask its Python workers."""
    import pyarrow
    from pyspark.sql.pandas.types import to_arrow_schema

    arrow: Any = pyarrow
    said: Any = to_arrow_schema(schema)
    columns = zip(*rows, strict=True) if rows else [()] * len(said)
    arrays = [arrow.array(column, each.type) for column, each in zip(columns, said, strict=True)]
    return job.spark.createDataFrame(arrow.Table.from_arrays(arrays, schema=said))


def empty(job: Job, schema: StructType | str) -> DataFrame:
    """No rows."""
    return job.spark.createDataFrame([], schema)


def escaped(path: str) -> str:
    """A path that Spark does not take for a pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


def read_text(job: Job, step: Step, pattern: str, *, compression: str = "ending") -> DataFrame:
    """The lines of text files with their file and number."""
    names = find_files(job, step, pattern, compression)
    lines = read_lines(job, names, compression).withColumn("@text", F.expr(WITHOUT_RETURN))
    lines = readable(job, step, numbered(job, lines, names, compression), names)
    return lines.selectExpr(*LINE_COLUMNS)


def readable(job: Job, step: Step, lines: DataFrame, names: Sequence[str]) -> DataFrame:
    """The lines that are UTF-8."""
    return accepted(job, step, lines, NOT_UTF8, names)


NOT_UTF8 = "CASE WHEN NOT is_valid_utf8(`@text`) THEN 'bad_record: the text is not UTF-8' END"


def accepted(
    job: Job, step: Step, lines: DataFrame, error: str, names: Sequence[str], compression: str = "ending"
) -> DataFrame:
    """The lines without errors; the others become dead letters that hold the raw text and say where it stands."""

    def as_letters(failed: DataFrame) -> DataFrame:
        if "@number" not in failed.columns:
            failed = numbered(job, failed, names, compression)
        located = "concat('bad_record: ', `@file`, ':', `@number`, ': ', substring(`@error`, 13)) AS `@error`"
        failed = failed.selectExpr("`@text`", located)
        return letters(job, failed, step, "left(make_valid_utf8(`@text`), 16384)")

    return parted(job, lines, error, as_letters, None)


def exactly(
    job: Job,
    step: Step,
    lines: DataFrame,
    doubt: str,
    value: Callable[[str], str],
    opening: Opening,
    names: Sequence[str],
    compression: str = "ending",
) -> DataFrame:
    """The records of lines as `value` says of each column; of those in `doubt` as the exact reader says, and what it
    refuses becomes dead letters.
    """
    gathered = Gathered.of(job.spark)
    job.left.append(gathered.let_go)
    rows = settled(lines, step.input, doubt, value, opening, gathered)

    def as_letters() -> DataFrame:
        found = gathered.found
        if not found.ran or found.more:
            failed = rows.where("`@broken` IS NOT NULL").selectExpr(*OF_DOUBTFUL, "`@broken`")
            failed = failed.withColumn("@text", F.expr(WITHOUT_RETURN))
            failed = numbered(job, failed, names, compression)
        else:
            failed = handed(
                job, [(text, *place, error) for place, (text, error) in found.letters.items()], BROKEN_LINES
            )
            told = {path_in(place[0]) for place in found.letters}
            failed = numbered(job, failed, [name for name in names if job.where(name) in told], compression)
        located = "concat('bad_record: ', `@file`, ':', `@number`, ': ', `@broken`) AS `@error`"
        return letters(job, failed.selectExpr("`@text`", located), step, "left(make_valid_utf8(`@text`), 16384)")

    job.failures.append(Failures(gathered, as_letters, None))
    return rows.where("`@broken` IS NULL").drop("@broken", "@doubtful")


OF_DOUBTFUL = (
    "substring(`@doubtful`, char_length(substring_index(`@doubtful`, '\n', 3)) + 2) AS `@text`",
    "substring_index(`@doubtful`, '\n', 1) AS `@file`",
    "bigint(split_part(`@doubtful`, '\n', 2)) AS `@block`",
    "bigint(split_part(`@doubtful`, '\n', 3)) AS `@row`",
)
"""The columns of a line that was in doubt."""


def generated(job: Job, count: int, start: int, step: int) -> DataFrame:
    """Numbered records with a time that goes on by a step, both in microseconds."""
    time = f"timestamp_micros({start}L + `id` * {step}L) AS `time`"
    return job.spark.range(count).selectExpr("`id` AS `number`", time)


def written(job: Job, rows: Sequence[tuple[Any, ...]], element: DataType) -> DataFrame:
    """Records that stand in the program, in the form that `plain` gives."""
    data = job.spark.createDataFrame(list(rows), plain_fields(element)).coalesce(1)
    return data.selectExpr(*record_columns(element))
