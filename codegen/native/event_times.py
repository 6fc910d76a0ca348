"""Event time: functions that give the time of each record."""

from __future__ import annotations

from ghcm.codegen.expressions import can_fail
from ghcm.codegen.native.column_expressions import ColumnScope, guard
from ghcm.codegen.native.column_text import Column, Unsupported
from ghcm.codegen.native.per_row import Made, input_of, per_row
from ghcm.codegen.native.row_expressions import RowScope
from ghcm.codegen.native.row_lines import bind_record
from ghcm.codegen.native.row_text import Code, Module
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import EventTime
from ghcm.types import is_nullable


def time_functions(
    task: Task, op: EventTime, unit: Unit, name: str, module: Module
) -> tuple[list[str], Unsupported | None]:
    """`<name>_times` and `<name>_times_columns`."""
    collection, time = input_of(task, unit), op.time
    optional = is_nullable(time.body.type)

    def make(scope: RowScope, columns: dict[str, Code], record: str) -> Made:
        scope.bind(time.parameters[0], bind_record(time.parameters[0], columns))
        code = scope.value(time.body)
        fails = can_fail(time.body)
        lines = [f"moment = {code.inner}"] if fails or optional else []
        text = "moment" if lines else code.inner
        if not optional:
            return fails, lines, [f"emit({text})"]
        null = f'    dead("{task.id}", {record}, Failure.NULL_TIME, "the event time is null")'
        return fails, lines, ["if moment is None:", null, "emit(moment)"]

    texts = [per_row(task.id, collection, module, f"{name}_times", "int", make)]
    scope = ColumnScope()
    scope.bind(time.parameters[0])
    try:
        column = scope.value(time.body)
    except Unsupported as reason:
        return texts, reason
    lines = guard(column.fails)
    if optional:
        lines += guard(Column(f"{column.at(7)}.is_null()"))
    body = "".join(f"    {line}\n" for line in lines)
    micros = f'columns.micros({column.text}).alias("time")'
    texts.append(
        f"def {name}_times_columns(frame: pl.DataFrame, parameters: Parameters) -> pl.Series | None:\n"
        f'{body}    return columns.fill(frame, {micros}).get_column("time")'
    )
    return texts, None
