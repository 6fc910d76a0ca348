"""What iterations become: a function that does one round, called until its end."""

from __future__ import annotations

from ghcm.codegen.spark.aggregates import final_value, grouped_columns
from ghcm.codegen.spark.expressions import value_binding
from ghcm.codegen.spark.library.sql import bare, quoted
from ghcm.codegen.spark.scope import Scope
from ghcm.codegen.spark.sql import col, make_struct
from ghcm.codegen.spark.text import sql_dict, sql_text
from ghcm.reducers import Aggregate
from ghcm.spg.ops import Iterate, Until
from ghcm.types import Field, Struct


def iterate_body(scope: Scope, op: Iterate, step: list[str]) -> list[str]:
    """The rows of the last round; `step` are the statements of one round, which take the rows `state`."""
    first, *others = scope.inputs
    until = "" if op.until is None else f", until={_until(scope, op.until)}"
    return [
        *(f"{name} = job.keep({name})" for name in others),
        "",
        "def step(state: DataFrame) -> DataFrame:",
        *(f"    {line}" for line in step),
        "",
        f"return iterated(job, {scope.step()}, {first}, step, {scope.count(op.limit)}{until})",
    ]


def _until(scope: Scope, until: Until) -> str:
    before, after = (_totals(scope, each) for each in (until.before, until.after))
    given = scope.emitter.body(until.condition, value_binding(col("before")), value_binding(col("after")))
    error = "" if given.error is None else f", {sql_text(given.error)}"
    return f"Until({before}, {after}, {sql_text(bare(given.value))}{error})"


def _totals(scope: Scope, aggregates: tuple[Aggregate, ...]) -> str:
    """The totals of one collection as one record."""
    if not aggregates:
        return "None"
    values = {f"@{each.name}": scope.on_record(each.argument).value for each in aggregates if each.argument is not None}
    totals = dict(pair for each in aggregates for pair in grouped_columns(each, quoted(f"@{each.name}")))
    struct = Struct(tuple(Field(each.name, each.type) for each in aggregates))
    record = make_struct(struct, map(final_value, aggregates))
    error = "" if record.error is None else f", {sql_text(record.error)}"
    return f"Totals({sql_dict(values)}, {sql_dict(totals)}, {sql_text(record.value)}{error})"
