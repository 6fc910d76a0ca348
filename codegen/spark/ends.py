"""What sinks, replies and publish policies become."""

from __future__ import annotations

from dataclasses import replace

from ghcm.codegen.spark.aggregates import RECORD, final_value, grouped_columns, read_columns
from ghcm.codegen.spark.library.sql import quoted
from ghcm.codegen.spark.scope import Scope
from ghcm.codegen.spark.sql import Checked, col
from ghcm.codegen.spark.text import quote, sql_dict, sql_text
from ghcm.expr import Lambda
from ghcm.reducers import Aggregate
from ghcm.spg.connectors import Files, Mode, Parquet, Redis
from ghcm.spg.ops import Publish, To
from ghcm.spg.traits import TIME


def reply_body(scope: Scope) -> list[str]:
    """The answer of the call."""
    return [f"reply_with(job, rows, {scope.element(scope.takes.element)})"]


def write_body(scope: Scope, op: To) -> list[str]:
    """One version of a sink."""
    sink = scope.program.sink(op.sink)
    element, mode = scope.element(scope.takes.element), quote(sink.mode.value)
    connector = sink.connector
    match connector:
        case Parquet(path=path):
            call = f"write_table(job, rows, {quote(sink.name)}, {quote(path)}, {element}"
            return [f'{call}, format="parquet", mode={mode})']
        case Files(path=path, format=format_):
            call = f"write_table(job, rows, {quote(sink.name)}, {quote(path)}, {element}"
            separator = f", separator={quote(format_.separator)}" if format_.separator != "," else ""
            return [f"{call}, format={quote(format_.name)}, mode={mode}{separator})"]
        case Redis(place=prefix):
            return _redis(scope, sink.name, prefix, sink.key, sink.mode)
        case _:  # the engine does not take it
            raise ValueError(f"Spark does not support {op}")


def _redis(scope: Scope, name: str, prefix: str, key: Lambda | None, mode: Mode) -> list[str]:
    assert key is not None, "a sink without a key is not supported"
    value = scope.on_record(key)
    what = f"{quote(name)}, {quote(prefix)}, {scope.element(scope.takes.element)}"
    keyed = f"{sql_text(value.value)}, {scope.type(key.body.type)}"
    return [*scope.passed(value), f"write_redis(job, rows, {what}, {keyed}, mode={quote(mode.value)})"]


def publish_body(scope: Scope, op: Publish) -> list[str]:
    """The calls of another unit that a policy asks for."""
    values: dict[str, Checked] = {}
    arguments: dict[str, str] = {}
    for name, what in op.call.arguments:
        match what:
            case Aggregate():
                own = replace(what, name=name)
                values |= {column: scope.on_record(function) for column, function in read_columns(own)}
                values |= {RECORD: scope.record()} if what.picks_record else {}
                values |= {TIME: col(TIME)} if what.by_time else {}
                totals, value = dict(grouped_columns(own, quoted(f"@{name}"))), final_value(own)
            case _:
                totals, value = {}, scope.emitter.emit(what)  # no aggregate, which of no records would be null
        error = "" if value.error is None else f", {sql_text(value.error)}"
        arguments[name] = f"Argument({sql_dict(totals)}, {sql_text(value.value)}, {scope.type(what.type)}{error})"
    policy = op.policy
    due = None if policy.when is None else scope.on_record(policy.when)
    options = f", every={policy.every_records}" if policy.every_records is not None else ""
    options += f", due={sql_text(due.value)}" if due is not None else ""
    options += ", window=True" if policy.on == "window_close" else ""
    options += ", completion=True" if policy.on == "completion" else ""
    options += ", at_end=True" if policy.at_end else ""
    after = None if op.after is None else quote(op.after)
    given = ", ".join(f"{quote(name)}: {text}" for name, text in arguments.items())
    return [
        *scope.passed(*values.values(), *([due] if due is not None else [])),
        f"values: dict[str, str] = {sql_dict({name: value.value for name, value in values.items()})}",
        f"arguments = {{{given}}}",
        f"call_with(job, rows, {scope.step()}, unit={quote(op.call.unit)}, after={after}, values=values, "
        f"arguments=arguments{options})",
    ]
