"""Files of cells: CSV, whose first lines name the columns, and Zeek's logs under their headers. Spark reads lines that
are plainly records; what is not a line by itself is found beforehand.
"""

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame

from ghcm.codegen.spark.library.doubts import Opening
from ghcm.codegen.spark.library.files.heads import CellFiles
from ghcm.codegen.spark.library.files.plain_cells import Layout, PlainCells, plain_cells
from ghcm.codegen.spark.library.files.spanning import records_apart
from ghcm.codegen.spark.library.job import Job, Step
from ghcm.codegen.spark.library.lines import exactly, read_lines
from ghcm.codegen.spark.library.sql import quoted


def read_cells(
    job: Job, step: Step, files: CellFiles, compression: str, exact: Callable[[list[str]], DataFrame]
) -> DataFrame:
    """The records of such files; `exact` reads those that are left to it."""
    apart = records_apart(job, files, compression)
    groups: dict[tuple[int, Layout], list[str]] = {}
    for name, head in files.heads.items():
        groups.setdefault((head.lines, head.layout), []).append(name)
    parts: list[DataFrame] = []
    for (lines, layout), names in groups.items():
        plain = plain_cells(step.input, layout)
        rows = read_lines(job, names, compression).where(f"NOT (`@block` = 0 AND `@row` <= {lines})")
        rows = rows if layout.quotes else rows.where("NOT startswith(`@text`, '#')")
        rows = apart.taken_from(job, rows, {job.where(name) for name in names})
        parts.append(decoded(job, step, rows, plain, files.heads[names[0]].opening, names, compression))
    if files.others or not parts:
        parts.append(exact(files.others))
    first, *others = parts
    for each in others:
        first = first.unionByName(each)
    return first


def decoded(
    job: Job,
    step: Step,
    lines: DataFrame,
    plain: PlainCells | None,
    opening: Opening,
    names: Sequence[str],
    compression: str,
) -> DataFrame:
    """The records of lines of these files; where nothing is plain the exact reader has all of them."""
    if plain is None:
        return exactly(job, step, lines, "true", lambda _: "NULL", opening, names, compression)
    for column in plain.found:
        lines = lines.selectExpr("*", column)
    return exactly(job, step, lines.selectExpr("*", *plain.columns), plain.doubt, quoted, opening, names, compression)
