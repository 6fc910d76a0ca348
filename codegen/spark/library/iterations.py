"""Iterations: a step repeated, on all records of the round before or on those alone that it has added."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from ghcm.codegen.spark.library.job import Failures, Job, Step, letters
from ghcm.codegen.spark.library.running import collected_rows, may_have_failed
from ghcm.codegen.spark.library.sql import first, named, quoted, text
from ghcm.codegen.spark.library.types import columns_of

COUNTS_WITHIN = 10
"""Seconds that the count of a round's rows may take to come, once all rows are made."""


class Totals(NamedTuple):
    """What is known of a whole collection: the columns that the aggregates read, the aggregates, the record of them."""

    values: dict[str, str]
    totals: dict[str, str]
    value: str
    error: str = "string(NULL)"

    def known(self, source: str, state: "State", side: str) -> str | None:
        """The one row of a source in SQL with the record of the totals of a state as `side`, and why they do not fit;
        None where they ask for more than the number of its records.
        """
        if any(each != "count(1)" for each in self.totals.values()):
            return None
        numbers = ", ".join(("*", *(named(f"{state.number}L", name) for name in self.totals)))
        return f"(SELECT {', '.join(self._told(side))} FROM (SELECT {numbers} FROM {source}))"

    def of(self, row: DataFrame, state: "State", side: str) -> DataFrame:
        """The row with them, whatever they ask for."""
        columns = [named(value, name) for name, value in self.values.items()]
        sums = [F.expr(named(total, name)) for name, total in self.totals.items()]
        row = row.crossJoin(state.rows().selectExpr("1 AS `@one`", *columns).agg(*sums))
        return row.selectExpr(*self._told(side))

    def _told(self, side: str) -> tuple[str, ...]:
        rest = f"* EXCEPT ({', '.join(map(quoted, self.totals))})" if self.totals else "*"
        return rest, named(self.value, side), named(self.error, f"{side}.error")


class Until(NamedTuple):
    """When an iteration ends: totals of what a round took and of what it gave, and the condition over both."""

    before: Totals | None
    after: Totals | None
    condition: str
    error: str | None = None


class Made(NamedTuple):
    """Rows that are made and cut from their plan, so that plans do not grow from round to round, and their number."""

    rows: DataFrame
    number: int

    def give_back(self) -> None:
        """Let Spark drop them, which it warns of where they are asked themselves: nobody reads them any more."""
        java: Any = self.rows._jdf  # pyright: ignore[reportPrivateUsage]  (there is no public way)
        context: Any = self.rows.sparkSession.sparkContext._jsc  # pyright: ignore[reportPrivateUsage]
        context.sc().unpersistRDD(java.queryExecution().analyzed().rdd().id(), False)


class State(NamedTuple):
    """What a round takes: rows, those last that the round before has added, and what becomes of the others."""

    parts: Sequence[Made]
    known: Callable[[DataFrame], DataFrame] | None

    @property
    def number(self) -> int:
        """The number of its records."""
        return sum(part.number for part in self.parts)

    @property
    def added(self) -> DataFrame:
        """What the round before has added, or all of it where the step takes that."""
        return self.parts[-1].rows

    def rows(self) -> DataFrame:
        """All of it."""
        whole: DataFrame | None = None
        for part in self.parts[:-1]:
            whole = part.rows if whole is None else whole.unionByName(part.rows)
        if whole is None or self.known is None:
            return self.added
        return self.known(whole).unionByName(self.added)


def iterated(
    job: Job,
    where: Step,
    rows: DataFrame,
    step: Callable[[DataFrame], DataFrame],
    limit: int,
    *,
    known: Callable[[DataFrame], DataFrame] | None = None,
    until: Until | None = None,
) -> DataFrame:
    """The rows of the last round, each of which is one action. With `known` a round gives the step what the one before
    has added, and takes what `known` makes of the others as it is.
    """
    state, rounds, ended = State([made(job, where, rows)], known), 0, False
    while rounds < limit and not ended:
        noted = len(job.failures)
        added = made(job, where, step(state.added))
        settle(job, noted)
        job.asked.pop()
        after = State([added] if known is None else [*state.parts, added], known)
        ended = until is not None and is_over(job, state, after, until, where)
        if known is None:
            state.parts[0].give_back()
        state, rounds = after, rounds + 1
        job.progress(0.9 * rounds / (limit + 1), f"{where.task}: round {rounds} of at most {limit}")
    job.rounds[where.task] = rounds
    job.left += [part.give_back for part in state.parts]
    return state.rows()


def made(job: Job, where: Step, rows: DataFrame) -> Made:
    """The rows, made now."""
    job.asked.append(rows)
    names = [quoted(name) for name in columns_of(where.input).fieldNames()]
    partitions = int(job.spark.conf.get("spark.sql.shuffle.partitions") or 200)
    counted = Observation()
    rows = rows.selectExpr(*names).coalesce(partitions).observe(counted, F.expr("count(1) AS count")).localCheckpoint()
    number = round_count(counted)
    return Made(rows, rows.count() if number is None else number)


def round_count(counted: Observation) -> int | None:
    """How many rows were counted; None where Spark made none, or does not say it in time. The count comes a moment
    after the rows, with which `get` of PySpark would wait for ever.
    """
    count: Any = counted._jo  # pyright: ignore[reportPrivateUsage]  (there is no public way)
    until = time.monotonic() + COUNTS_WITHIN
    while not count.future().isCompleted():
        if time.monotonic() >= until:
            return None
        time.sleep(0.002)
    row = count.getRow()
    return int(row.getLong(0)) if row.length() else None


def settle(job: Job, known: int) -> None:
    """Make the dead letters of a round, before what they are made of is given back."""
    fresh = [each for each in job.failures[known:] if may_have_failed(job, each)]
    job.failures[known:] = [held_letters(each) for each in fresh]


def held_letters(failed: Failures) -> Failures:
    """Dead letters that are made already, whatever is joined behind the loop."""
    came = None if failed.unmade else collected_rows(failed)
    if came is not None:
        return failed._replace(letters=lambda: came.dropDuplicates(["row"]))
    rows = failed.letters().localCheckpoint()
    return failed._replace(counted=None, letters=lambda: rows)


def is_over(job: Job, before: State, after: State, until: Until, where: Step) -> bool:
    """Whether the condition is true; where it fails, it is not, and there is a dead letter without a record."""
    sides = [("before", before, until.before), ("after", after, until.after)]
    asked = [(side, state, totals) for side, state, totals in sides if totals is not None]
    source, rest = "VALUES (1) AS one (`@one`)", list[tuple[str, State, Totals]]()
    for side, state, totals in asked:
        known = totals.known(source, state, side)
        if known is None:
            rest.append((side, state, totals))
        source = known or source
    row = job.spark.sql(f"SELECT * FROM {source}")
    for side, state, totals in rest:
        row = totals.of(row, state, side)
    error = first(*(quoted(f"{side}.error") for side, _, _ in asked), until.error) or "string(NULL)"
    found = row.selectExpr(until.condition, error).collect()[0]
    if found[1] is None:
        return found[0] is True
    failed = job.spark.range(1).selectExpr(named(text(found[1]), "@error"))
    job.failures.append(Failures(None, lambda: letters(job, failed, where, "'null'"), None))
    return False
