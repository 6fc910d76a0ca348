"""What sources and reads become."""

from __future__ import annotations

from ghcm.codegen.spark.scope import Scope
from ghcm.codegen.spark.text import python_text, quote
from ghcm.spg.connectors import Files, Generate, Memory, Parquet, Redis
from ghcm.spg.graph import Task
from ghcm.spg.ops import ReadSink, Source


def source_body(scope: Scope, task: Task, op: Source) -> list[str]:
    """Records from outside."""
    element = scope.element(task.collection.element)
    connector = op.connector
    match connector:
        case Files():
            return [_files(scope, task, connector)]
        case Memory(rows=rows):
            lines = [f"    {python_text(row)}," for row in rows]
            return ["rows = [", *lines, "]", f"return written(job, {quote(task.id)}, rows, {element}{scope.keeping()})"]
        case Generate(rows=rows, start_us=start, step_us=step_us):
            return [f"return generated(job, {quote(task.id)}, {rows}, {start}, {step_us}{scope.keeping()})"]
        case _:  # the engine does not take it
            raise ValueError(f"Spark does not support {op}")


def _files(scope: Scope, task: Task, files: Files) -> str:
    """The call that reads files of a format."""
    step, format_ = scope.step(task.collection.element), files.format
    options = f", separator={quote(format_.separator)}" if format_.separator != "," else ""
    options += f", compression={quote(files.compression)}" if files.compression != "ending" else ""
    options += f", clock={quote(files.clock)}" if files.clock != "restarts" else ""
    name = f"{format_.name}_files" if format_.name in ("parquet", "arrow") else format_.name
    return f"return read_{name}(job, {step}, {quote(files.path)}{scope.keeping()}{options})"


def read_sink_body(scope: Scope, task: Task, op: ReadSink) -> list[str]:
    """The records of a sink."""
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
    return [f"return arrived({call}, {quote(task.id)}{scope.keeping()})" if scope.keep else f"return {call}"]
