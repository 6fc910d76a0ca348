"""What sources, reads, sinks, replies and publish policies become."""

import json
from dataclasses import replace

from ghcm.codegen.spark.aggregate_inputs import read_columns
from ghcm.codegen.spark.aggregates import RECORD, final_value, grouped_columns
from ghcm.codegen.spark.expressions import Scope
from ghcm.codegen.spark.library.sql import quoted
from ghcm.codegen.spark.sql import Checked, col
from ghcm.codegen.spark.text import also, python_text, quote, selected, sql_dict, sql_text
from ghcm.reducers import Aggregate
from ghcm.spg.connectors import Files, Generate, Kafka, Memory, Mode, Parquet, Redis, SqlQuery, Table
from ghcm.spg.graph import Sink, Task
from ghcm.spg.ops import Publish, ReadSink, Source, To
from ghcm.spg.traits import TIME
from ghcm.types import Struct


def source_body(scope: Scope, task: Task, op: Source) -> list[str]:
    """Records from outside."""
    if op.whole is not None:
        return _some_columns(scope, task, source_body(scope, _reading(task, op.whole), replace(op, whole=None)))
    element = scope.element(task.collection.element)
    connector = op.connector
    match connector:
        case Files():
            return [_files(scope, task, connector)]
        case Table(path=path, version=version, time_us=time):
            at = f", version={version}" if version is not None else f", time_us={time}" if time is not None else ""
            step = scope.step(task.collection.element)
            return [f"return read_delta(job, {step}, {quote(path)}{at})"]
        case Memory(rows=rows):
            lines = [f"    {python_text(row)}," for row in rows]
            return ["rows = [", *lines, "]", f"return written(job, rows, {element})"]
        case Generate(rows=rows, start_us=start, step_us=step_us):
            return [f"return generated(job, {rows}, {start}, {step_us})"]
        case SqlQuery():
            return [_sql(scope, task, connector)]
        case Kafka():
            return [_kafka(scope, task, connector)]
        case _:  # the engine does not take it
            raise ValueError(f"Spark does not support {op}")


def _reading(task: Task, whole: Struct) -> Task:
    """The task that gives all that it reads."""
    return replace(task, collection=replace(task.collection, element=whole))


def _some_columns(scope: Scope, task: Task, lines: list[str]) -> list[str]:
    """The body with the columns that the task gives on."""
    columns = [*scope.kept, *map(quoted, task.schema.names)]
    return [*lines[:-1], "return " + selected(lines[-1].removeprefix("return "), *columns)]


def _sql(scope: Scope, task: Task, asked: SqlQuery) -> str:
    """The call that reads a table or a query."""
    texts = {"table": asked.table, "query": asked.query, "split": asked.split}
    options = "".join(f", {name}={quote(text)}" for name, text in texts.items() if text)
    options += f", parts={asked.parts}" if asked.split else ""
    step = scope.step(task.collection.element)
    return f"return read_sql(job, {step}, {quote(asked.connection)}{options})"


def _kafka(scope: Scope, task: Task, asked: Kafka) -> str:
    """The call that reads what topics hold."""
    format_, step = asked.format, scope.step(task.collection.element)
    topics = f"{quote(asked.pattern)}, pattern=True" if asked.pattern else quote(asked.topic)
    topics += f", start_us={asked.start_us}" if asked.start_us is not None else ""
    topics += f", offsets={python_text(dict(asked.offsets))}" if asked.offsets else ""
    topics += f", lost={quote(asked.lost)}" if asked.lost != "fail" else ""
    options = f", format={quote(format_.name)}" if format_.name != "json" else ""
    options += f", separator={quote(format_.separator)}" if format_.separator != "," else ""
    options += f", fields={python_text(dict(asked.fields))}" if asked.fields else ""
    options += f", absent={quote(asked.absent)}" if asked.absent else ""
    if asked.schema:
        schema = python_text(json.loads(asked.schema))
        options += f", avro=Avro({schema}{'' if asked.schema_id is None else f', {asked.schema_id}'})"
    return f"return read_kafka(job, {step}, Topics({topics}){options})"


def _files(scope: Scope, task: Task, files: Files) -> str:
    """The call that reads files of a format."""
    step, format_ = scope.step(task.collection.element), files.format
    options = f", separator={quote(format_.separator)}" if format_.separator != "," else ""
    options += ", keeps_empty=True" if format_.keeps_empty else ""
    options += f", compression={quote(files.compression)}" if files.compression != "ending" else ""
    texts = scope.checks.columns.get(task.id, ())
    options += f", by_group=[{', '.join(map(quote, texts))}]" if texts else ""
    name = f"{format_.name}_files" if format_.name in ("parquet", "arrow") else format_.name
    return f"return read_{name}(job, {step}, {quote(files.path)}{options})"


def read_sink_body(scope: Scope, task: Task, op: ReadSink) -> list[str]:
    """The records of a sink."""
    if op.whole is not None:
        return _some_columns(scope, task, read_sink_body(scope, _reading(task, op.whole), replace(op, whole=None)))
    sink = scope.program.sink(op.sink)
    step, name, connector = scope.step(task.collection.element), quote(sink.name), sink.connector
    match connector:
        case Parquet(path=path):
            call = f"read_parquet(job, {step}, {name}, {quote(path)})"
        case Files(path=path, format=format_):
            separator = f", {quote(format_.separator)}" if format_.separator != "," else ""
            call = f"read_table(job, {step}, {name}, {quote(path)}, {quote(format_.name)}{separator})"
        case Redis(place=prefix):
            call = f"read_redis(job, {step}, {name}, {quote(prefix)}, mode={quote(sink.mode.value)})"
        case _:  # the engine does not take it
            raise ValueError(f"Spark does not support {op}")
    return [f"return {call}"]


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
            keyed = f", key=[{', '.join(map(quote, sink.key_columns))}]" if sink.mode is Mode.UPSERT else ""
            by = f", partition=[{', '.join(map(quote, connector.partition))}]" if connector.partition else ""
            return [f'{call}, format="parquet", mode={mode}{keyed}{by})']
        case Files(path=path, format=format_):
            call = f"write_table(job, rows, {quote(sink.name)}, {quote(path)}, {element}"
            separator = f", separator={quote(format_.separator)}" if format_.separator != "," else ""
            return [f"{call}, format={quote(format_.name)}, mode={mode}{separator})"]
        case Redis():
            return _redis(scope, sink, connector)
        case Kafka():
            return _topic(scope, sink, connector)
        case _:  # the engine does not take it
            raise ValueError(f"Spark does not support {op}")


def _topic(scope: Scope, sink: Sink, topic: Kafka) -> list[str]:
    """The statements that have rows sent."""
    call = f"write_kafka(job, rows, {quote(sink.name)}, {quote(topic.topic)}, {scope.element(scope.takes.element)}"
    format_, before = topic.format, list[str]()
    if sink.key is not None:
        value = scope.on_record(sink.key)
        call += f", {sql_text(value.value)}, {scope.element(sink.key.body.type)}"
        before = scope.passed(value)
    call += f", format={quote(format_.name)}" if format_.name != "json" else ""
    call += f", separator={quote(format_.separator)}" if format_.separator != "," else ""
    call += "".join(f", headers={quote(name)}" for _, name in topic.fields)
    return [*before, f"{call})"]


def _redis(scope: Scope, sink: Sink, place: Redis) -> list[str]:
    assert sink.key is not None, "a sink without a key is not supported"
    value = scope.on_record(sink.key)
    what = f"{quote(sink.name)}, {quote(place.prefix)}, {scope.element(scope.takes.element)}"
    keyed = f"{sql_text(value.value)}, {scope.type(sink.key.body.type)}"
    call = f"write_redis(job, rows, {what}, {keyed}, mode={quote(sink.mode.value)})"
    if place.form is not None:
        column = place.value(sink.columns.names)
        form = quote(place.form) + (f", value={quote(column)}" if column is not None else "")
        form += f", expire_us={place.expire_us}" if place.expire_us is not None else ""
        call = f"write_redis_form(job, rows, {what}, {keyed}, redis_form({form}))"
    return [*scope.passed(value), call]


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
                totals = dict(grouped_columns(own, quoted(f"@{name}"), scope.emitter))
                value = final_value(own, scope.emitter)
            case _:
                totals, value = {}, scope.emitter.emit(what)  # no aggregate, which of no records would be null
        given = f"{sql_dict(totals)}, {sql_text(value.value)}, {scope.type(what.type)}"
        arguments[name] = f"Argument({given}{also(value.error)})"
    policy = op.policy
    due = None if policy.when is None else scope.on_record(policy.when)
    options = f", every={policy.every_records}" if policy.every_records is not None else ""
    options += also(None if due is None else due.value, "due=")
    options += ", window=True" if policy.on == "window_close" else ""
    options += ", completion=True" if policy.on == "completion" else ""
    options += ", at_end=True" if policy.at_end else ""
    after = None if op.after is None else quote(op.after)
    listed = ", ".join(f"{quote(name)}: {text}" for name, text in arguments.items())
    return [
        *scope.passed(*values.values(), *([due] if due is not None else [])),
        f"values: dict[str, str] = {sql_dict({name: value.value for name, value in values.items()})}",
        f"arguments = {{{listed}}}",
        f"call_with(job, rows, {scope.step()}, unit={quote(op.call.unit)}, after={after}, values=values, "
        f"arguments=arguments{options})",
    ]
