"""Publish policies: calls of other units, for whoever runs the job to send."""

from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructType

from ghcm.codegen.spark.library.job import Job, Step, passed
from ghcm.codegen.spark.library.sql import first, named
from ghcm.codegen.spark.library.types import plain, type_of
from ghcm.values import to_json


class Argument(NamedTuple):
    """An argument of a call: the aggregates that it takes, what they make, its type, and why it fails."""

    totals: dict[str, str]
    value: str
    type: DataType
    error: str | None = None


def call_with(  # noqa: PLR0913  each is a part of the language's publish
    job: Job,
    rows: DataFrame,
    step: Step,
    *,
    unit: str,
    after: str | None,
    values: dict[str, str],
    arguments: dict[str, Argument],
    every: int | None = None,
    due: str | None = None,
    window: bool = False,
    completion: bool = False,
    at_end: bool = False,
) -> None:
    """Note the calls of a policy, each with aggregates over the records since the one before. `values` are the columns
    that the aggregates read, `due` says behind which records there is a call; records are counted in the order in which
    they come.
    """
    is_due = "0" if due is None else f"int(coalesce({due}, false))"
    order = "unix_micros(`window`.`end`)" if window else "monotonically_increasing_id()"
    columns = [named(value, name) for name, value in values.items()]
    rows = rows.selectExpr(*columns, f"{is_due} AS `@due`", f"{order} AS `@place`")
    before = "(ORDER BY `@place` ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    if window:
        group = "`@place`"
    elif every is not None:
        group = f"count(1) OVER {before} div {every}"
    else:
        group = "0" if completion else f"coalesce(sum(`@due`) OVER {before}, 0)"
    rows = rows.selectExpr("*", f"{group} AS `@group`")
    totals = [F.expr(named(total, name)) for each in arguments.values() for name, total in each.totals.items()]
    counts = [F.expr("count(1) AS `@rows`"), F.expr("max(`@due`) AS `@due`")]
    groups = (rows if completion else rows.groupBy("@group")).agg(*counts, *totals)
    if not (window or completion or at_end):
        groups = groups.where(f"`@due` = 1 OR `@rows` = {every or -1}")
    note_calls(job, groups if completion else groups.orderBy("@group"), step, unit, after, arguments)


def note_calls(
    job: Job, groups: DataFrame, step: Step, unit: str, after: str | None, arguments: dict[str, Argument]
) -> None:
    """One call for each group, unless an aggregate does not fit."""
    error = first(*(each.error for each in arguments.values()))
    if error is not None:
        groups = passed(job, groups, step._replace(input=StructType([])), error)
    columns = [named(plain(each.value, each.type), name) for name, each in arguments.items()]
    job.asked.append(groups)
    for row in groups.selectExpr(*columns).collect() if columns else groups.collect():
        parameters = {name: to_json(row[name], type_of(each.type, nullable=True)) for name, each in arguments.items()}
        job.calls.append({"task": step.task, "unit": unit, "after": after, "parameters": parameters})
