"""Steps that are more than one call of Spark: windows, sessions, and the first of many."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ghcm.codegen.spark.library.job import Failures, Job, Step, letters, passed
from ghcm.codegen.spark.library.sql import fails, named, quoted, text
from ghcm.codegen.spark.library.types import columns_of

NOTHING: Mapping[str, str] = {}


def into_window(every: int, offset: int) -> str:
    """How long the last window had begun at the time of a row, of windows that begin every so many microseconds."""
    into = f"pmod(`@time`, {every}L)"
    return f"pmod({into} - {offset}L, {every}L)" if offset else into


def windowed(
    job: Job, rows: DataFrame, step: Step, size: int, *, offset: int = 0, keep: Sequence[str] = ()
) -> DataFrame:
    """The rows with their window of event time."""
    start = f"try_subtract(`@time`, {into_window(size, offset)})"
    end = f"try_add({start}, {size}L)"
    beyond = fails(f"{end} IS NULL", "overflow", "its window does not fit into 64 bits")
    rows = passed(job, rows, step, beyond)
    window = f"named_struct('start', timestamp_micros({start}), 'end', timestamp_micros({end}))"
    columns = [quoted(name) for name in columns_of(step.input).fieldNames() if name != "window"]
    return rows.selectExpr(*map(quoted, keep), *columns, named(window, "window"))


def windowed_by(job: Job, rows: DataFrame, step: Step, size: str, *, keep: Sequence[str] = ()) -> DataFrame:
    """As `windowed`, with windows of a size in SQL, which may be none."""
    none = fails(f"{size} < 1L", "zero_divisor", "windows of no size")
    given = f"CASE WHEN {size} > 0L THEN {size} END"
    start = f"try_subtract(`@time`, pmod(`@time`, {given}))"
    end = f"try_add({start}, {size})"
    beyond = fails(f"{size} > 0L AND {end} IS NULL", "overflow", "its window does not fit into 64 bits")
    rows = passed(job, rows, step, f"coalesce({none}, {beyond})")
    window = f"named_struct('start', timestamp_micros({start}), 'end', timestamp_micros({end}))"
    columns = [quoted(name) for name in columns_of(step.input).fieldNames() if name != "window"]
    return rows.selectExpr(*map(quoted, keep), *columns, named(window, "window"))


def slid(
    job: Job, rows: DataFrame, step: Step, size: int, every: int, *, offset: int = 0, keep: Sequence[str] = ()
) -> DataFrame:
    """The rows once for each of their sliding windows."""
    into = into_window(every, offset)
    last = f"try_subtract(`@time`, {into})"
    first_one = f"try_subtract({last}, (({size}L - {into} - 1L) div {every}L) * {every}L)"
    beyond = fails(f"{first_one} IS NULL OR try_add({last}, {size}L) IS NULL", "overflow", "a window leaves 64 bits")
    rows = passed(job, rows, step, beyond)
    rows = rows.selectExpr("*", f"explode(sequence({first_one}, {last}, {every}L)) AS `@start`")
    window = f"named_struct('start', timestamp_micros(`@start`), 'end', timestamp_micros(`@start` + {size}L))"
    columns = [quoted(name) for name in columns_of(step.input).fieldNames() if name != "window"]
    return rows.selectExpr(*map(quoted, keep), *columns, named(window, "window"))


def cumulated(
    job: Job, rows: DataFrame, step: Step, size: int, every: int, *, offset: int = 0, keep: Sequence[str] = ()
) -> DataFrame:
    """The rows once for each window of their start that ends behind their time."""
    into = into_window(size, offset)
    start = f"try_subtract(`@time`, {into})"
    beyond = fails(f"try_add({start}, {size}L) IS NULL", "overflow", "its window does not fit into 64 bits")
    rows = passed(job, rows, step, beyond)
    first, last = f"{start} + ({into} div {every}L + 1L) * {every}L", f"{start} + {size}L"
    rows = rows.selectExpr("*", f"explode(sequence({first}, {last}, {every}L)) AS `@end`")
    window = f"named_struct('start', timestamp_micros({start}), 'end', timestamp_micros(`@end`))"
    columns = [quoted(name) for name in columns_of(step.input).fieldNames() if name != "window"]
    return rows.selectExpr(*map(quoted, keep), *columns, named(window, "window"))


def in_sessions(
    job: Job, rows: DataFrame, step: Step, gap: int, *, by: Mapping[str, str] = NOTHING, keep: Sequence[str] = ()
) -> DataFrame:
    """The rows with their session, of each key by the columns of it, which are SQL by their names. A row may `keep`
    these, and the number of its session, `@session`: who groups by them need not wait for each row to know its window.
    """
    end = f"try_add(`@time`, {gap}L)"
    beyond = fails(f"{end} IS NULL", "overflow", "its session does not fit into 64 bits")
    rows = passed(job, rows, step, beyond)
    if parts := [named(value, name) for name, value in by.items() if value != quoted(name)]:
        rows = rows.selectExpr("*", *parts)
    each = f"PARTITION BY {', '.join(map(quoted, by)) or 'true'}"
    pause = f"try_subtract(`@time`, lag(`@time`) OVER ({each} ORDER BY `@time`))"
    rows = rows.selectExpr("*", f"coalesce({pause} >= {gap}L, true) AS `@opens`")
    rows = rows.selectExpr("*", f"count_if(`@opens`) OVER ({each} ORDER BY `@time`) AS `@session`")
    times = {name: f"{name}(`@time`) OVER ({each}, `@session`)" for name in ("min", "max")}
    start, last = (f"timestamp_micros({times['min']})", f"timestamp_micros({times['max']} + {gap}L)")
    columns = [quoted(name) for name in columns_of(step.input).fieldNames() if name != "window"]
    return rows.selectExpr(*map(quoted, keep), *columns, f"named_struct('start', {start}, 'end', {last}) AS `window`")


def first_of(job: Job, rows: DataFrame, count: int) -> DataFrame:
    """The first of rows that are in order."""
    if count == 0:  # then Spark makes none of them
        job.failures[:] = [each._replace(unmade=True) for each in job.failures]
    return rows.limit(count)


def window_top(
    job: Job, rows: DataFrame, count: int, by: str, ties: Sequence[str], *, descending: bool, timed: bool = False
) -> DataFrame:
    """The first rows of each window by a value, nulls last; equal ones by the whole record, ascending."""
    if count == 0:
        return first_of(job, rows, 0)
    order = ", ".join([f"{by} {'DESC' if descending else 'ASC'} NULLS LAST", *(f"{quoted(name)} ASC" for name in ties)])
    rank = f"row_number() OVER (PARTITION BY `window` ORDER BY {order}) AS `@rank`"
    rows = rows.selectExpr("*", rank).where(f"`@rank` <= {count}").drop("@rank")
    return rows.withColumn("@time", F.expr("unix_micros(`window`.`end`) - 1")) if timed else rows


def top_count(job: Job, step: Step, count: str, error: str = "string(NULL)") -> int:
    """How many are asked for; none where that fails."""
    row = job.spark.sql("SELECT * FROM VALUES (1) AS one (`@one`)").selectExpr(count, error).collect()[0]
    if row[1] is None:
        return max(0, min(row[0] or 0, 2**31 - 1))
    failed = job.spark.range(1).selectExpr(named(text(row[1]), "@error"))
    job.failures.append(Failures(None, lambda: letters(job, failed, step, "'null'"), None))
    return 0
