"""Steps that are more than one call of Spark: windows, sessions, the first of many, and iterations."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ghcm.codegen.spark.library.job import COUNTS_WITHIN, Failures, Job, Step, letters, passed
from ghcm.codegen.spark.library.running import collected_letters, may_have_failed
from ghcm.codegen.spark.library.sql import fails, first, named, quoted, text
from ghcm.codegen.spark.library.types import columns_of


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


def in_sessions(
    job: Job, rows: DataFrame, step: Step, gap: int, *, by: Sequence[str] = (), keep: Sequence[str] = ()
) -> DataFrame:
    """The rows with their session."""
    end = f"try_add(`@time`, {gap}L)"
    beyond = fails(f"{end} IS NULL", "overflow", "its session does not fit into 64 bits")
    rows = passed(job, rows, step, beyond)
    each = f"PARTITION BY {', '.join(map(quoted, by)) or 'true'}"
    pause = f"try_subtract(`@time`, lag(`@time`) OVER ({each} ORDER BY `@time`))"
    rows = rows.selectExpr("*", f"coalesce({pause} >= {gap}L, true) AS `@opens`")
    rows = rows.selectExpr("*", f"count_if(`@opens`) OVER ({each} ORDER BY `@time`) AS `@session`")
    times = {name: f"{name}(`@time`) OVER ({each}, `@session`)" for name in ("min", "max")}
    start, last = (f"timestamp_micros({times['min']})", f"timestamp_micros({times['max']} + {gap}L)")
    columns = [quoted(name) for name in columns_of(step.input).fieldNames() if name != "window"]
    return rows.selectExpr(*map(quoted, keep), *columns, f"named_struct('start', {start}, 'end', {last}) AS `window`")


def window_top(
    rows: DataFrame, count: int, by: str, ties: Sequence[str], *, descending: bool, timed: bool = False
) -> DataFrame:
    """The first rows of each window by a value, nulls last; equal ones by the whole record, ascending."""
    order = ", ".join([f"{by} {'DESC' if descending else 'ASC'} NULLS LAST", *(f"{quoted(name)} ASC" for name in ties)])
    rank = f"row_number() OVER (PARTITION BY `window` ORDER BY {order}) AS `@rank`"
    rows = rows.selectExpr("*", rank).where(f"`@rank` <= {count}").drop("@rank")
    return rows.withColumn("@time", F.expr("unix_micros(`window`.`end`) - 1")) if timed else rows


def top_count(job: Job, step: Step, count: str, error: str = "string(NULL)") -> int:
    """How many are asked for; none where that fails."""
    row = job.spark.range(1).selectExpr(count, error).collect()[0]
    if row[1] is None:
        return max(0, min(row[0] or 0, 2**31 - 1))
    failed = job.spark.range(1).selectExpr(named(text(row[1]), "@error"))
    job.failures.append(Failures(None, lambda: letters(job, failed, step, "'null'"), None))
    return 0


class Totals(NamedTuple):
    """What is known of a whole collection: the columns that the aggregates read, the aggregates, the record of them."""

    values: dict[str, str]
    totals: dict[str, str]
    value: str
    error: str = "string(NULL)"


class Until(NamedTuple):
    """When an iteration ends: totals of what a round took and of what it gave, and the condition over both."""

    before: Totals | None
    after: Totals | None
    condition: str
    error: str | None = None


def iterated(
    job: Job,
    where: Step,
    rows: DataFrame,
    step: Callable[[DataFrame], DataFrame],
    limit: int,
    *,
    until: Until | None = None,
) -> DataFrame:
    """The rows of the last round. What each round gives is made once and cut from its plan, so that plans do not grow;
    Spark gives it back when nothing needs it any more.
    """
    names = [quoted(name) for name in columns_of(where.input).fieldNames()]
    partitions = int(job.spark.conf.get("spark.sql.shuffle.partitions") or 200)
    state, rounds, ended = rows.selectExpr(*names).localCheckpoint(), 0, False
    while rounds < limit and not ended:
        known = len(job.failures)
        after = step(state).selectExpr(*names).coalesce(partitions).localCheckpoint()
        settle(job, known)
        rounds += 1
        ended = until is not None and is_over(job, state, after, until, where)
        state = after
        job.progress(0.9 * rounds / (limit + 1), f"{where.task}: round {rounds} of at most {limit}")
    job.rounds[where.task] = rounds
    return state


def settle(job: Job, known: int) -> None:
    """Make the dead letters of a round, before what they are made of is given back."""
    within = time.monotonic() + COUNTS_WITHIN
    fresh = [each for each in job.failures[known:] if may_have_failed(each, within)]
    job.failures[known:] = [each if collected_letters(job, each) is not None else held_letters(each) for each in fresh]


def held_letters(failed: Failures) -> Failures:
    """Dead letters that are made already."""
    rows = failed.letters().localCheckpoint()
    return failed._replace(counted=None, letters=lambda: rows)


def is_over(job: Job, before: DataFrame, after: DataFrame, until: Until, where: Step) -> bool:
    """Whether the condition is true; where it fails, it is not, and there is a dead letter without a record."""
    sides = [("before", before, until.before), ("after", after, until.after)]
    known = [total_of(rows, side, totals) for side, rows, totals in sides if totals is not None]
    row = job.spark.range(1)
    for each in known:
        row = row.crossJoin(each)
    errors = [f"`{side}.error`" for side, _, totals in sides if totals is not None]
    error = first(*errors, until.error) or "string(NULL)"
    found = row.selectExpr(until.condition, error).collect()[0]
    if found[1] is None:
        return found[0] is True
    failed = job.spark.range(1).selectExpr(named(text(found[1]), "@error"))
    job.failures.append(Failures(None, lambda: letters(job, failed, where, "'null'"), None))
    return False


def total_of(rows: DataFrame, side: str, totals: Totals) -> DataFrame:
    """One row: the record of the totals, and why they do not fit."""
    columns = [named(value, name) for name, value in totals.values.items()]
    one = rows.selectExpr("1 AS `@one`", *columns).agg(
        *(F.expr(named(sum_, name)) for name, sum_ in totals.totals.items())
    )
    return one.selectExpr(named(totals.value, side), named(totals.error, f"{side}.error"))
