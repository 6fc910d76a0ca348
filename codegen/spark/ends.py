"""What sinks, replies and publish policies become."""

from __future__ import annotations

from dataclasses import replace

from ghcm.codegen.spark.aggregates import RECORD, argument_columns, final_value, grouped_columns
from ghcm.codegen.spark.expressions import can_fail
from ghcm.codegen.spark.scope import Scope
from ghcm.codegen.spark.text import quote
from ghcm.expr import Lambda
from ghcm.reducers import Aggregate
from ghcm.spg.connectors import Mode
from ghcm.spg.ops import Files, Parquet, Publish, Redis, To
from ghcm.spg.ops.traits import TIME


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
        case Redis(place=place):
            return _redis(scope, sink.name, place, sink.key, sink.mode)
        case _:  # the engine does not take it
            raise ValueError(f"Spark does not support {op}")


def _redis(scope: Scope, name: str, place: str, key: Lambda | None, mode: Mode) -> list[str]:
    assert key is not None, "a sink without a key is not supported"
    lines = [f"key = {scope.on_record(key)}"]
    if can_fail(key.body):
        lines.append(f"rows = passed(job, rows, {scope.step()}, key.error)")
    call = f"write_redis(job, rows, {quote(name)}, {quote(place)}, {scope.element(scope.takes.element)}"
    return [*lines, f"{call}, key, {scope.type(key.body.type)}, mode={quote(mode.value)})"]


def publish_body(scope: Scope, op: Publish) -> list[str]:
    """The calls of another unit that a policy asks for."""
    values: dict[str, str] = {}
    arguments: dict[str, str] = {}
    for name, what in op.call.arguments:
        match what:
            case Aggregate():
                named = replace(what, name=name)
                values |= {column: scope.on_record(function) for column, function in grouped_columns(named)}
                values |= {RECORD: scope.record()} if what.placed else {}
                values |= {TIME: f"col({quote(TIME)})"} if what.by_time else {}
                totals = ", ".join(f"{quote(column)}: {total}" for column, total in argument_columns(named))
                value = final_value(named)
            case _:
                totals, value = "", scope.emitter.emit(what)  # no aggregate, which of no records would be null
        arguments[name] = f"Argument({{{totals}}}, {value}, {scope.type(what.type)})"
    policy = op.policy
    options = f", every={policy.every_records}" if policy.every_records is not None else ""
    options += f", when={scope.on_record(policy.when)}" if policy.when is not None else ""
    options += ", window=True" if policy.on == "window_close" else ""
    options += ", completion=True" if policy.on == "completion" else ""
    options += ", at_end=True" if policy.at_end else ""
    after = None if op.after is None else quote(op.after)
    return [
        f"values = {{{', '.join(f'{quote(name)}: {text}' for name, text in values.items())}}}",
        f"arguments = {{{', '.join(f'{quote(name)}: {text}' for name, text in arguments.items())}}}",
        f"call_with(job, rows, step={scope.step()}, unit={quote(op.call.unit)}, after={after}, values=values, "
        f"arguments=arguments{options})",
    ]
