"""What iterations become: a function that does one round, called until its end."""

from __future__ import annotations

from ghcm.codegen.spark.aggregates import argument_columns, final_value
from ghcm.codegen.spark.expressions import value_binding
from ghcm.codegen.spark.scope import Scope
from ghcm.codegen.spark.text import quote
from ghcm.expr import Literal
from ghcm.reducers import Aggregate
from ghcm.spg.ops import Iterate, Until
from ghcm.types import Field, Struct


def iterate_body(scope: Scope, op: Iterate, step: list[str]) -> list[str]:
    """The rows of the last round; `step` are the statements of one round, which take the rows `state`."""
    first, *others = scope.inputs
    limit = op.limit
    if isinstance(limit, Literal):
        number = str(max(0, int(str(limit.value or 0))))
    else:
        number = f"top_count(job, {scope.emitter.emit(limit)}, {scope.step()})"
    until = "" if op.until is None else f", until={_until(scope, op.until)}"
    return [
        *(f"{name} = job.keep({name})" for name in others),
        "",
        "def step(state: DataFrame) -> DataFrame:",
        *(f"    {line}" for line in step),
        "",
        f"return iterated(job, {first}, step, {number}, where={scope.step()}{until})",
    ]


def _until(scope: Scope, until: Until) -> str:
    sides = [_totals(scope, each) for each in (until.before, until.after)]
    condition = scope.emitter.body(until.condition, value_binding('col("before")'), value_binding('col("after")'))
    return f"Until({', '.join(sides)}, {condition})"


def _totals(scope: Scope, aggregates: tuple[Aggregate, ...]) -> str:
    """The totals of one collection as one record."""
    if not aggregates:
        return "None"
    values = {f"@{each.name}": scope.on_record(each.argument) for each in aggregates if each.argument is not None}
    totals = dict(pair for each in aggregates for pair in argument_columns(each))
    struct = Struct(tuple(Field(each.name, each.type) for each in aggregates))
    parts = ", ".join(f"{quote(each.name)}: {final_value(each)}" for each in aggregates)
    return f"Totals({_dict(values)}, {_dict(totals)}, make_struct({scope.type(struct)}, {{{parts}}}))"


def _dict(texts: dict[str, str]) -> str:
    return "{" + ", ".join(f"{quote(name)}: {text}" for name, text in texts.items()) + "}"
