"""The tasks that are neither chains nor aggregations: event time, order, joins, keys of sinks, policies and reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from ghcm.codegen.expressions import can_fail, plainly_ordered
from ghcm.codegen.native.aggregates import Added, add_text, result_text, zero_text
from ghcm.codegen.native.column_chains import guard
from ghcm.codegen.native.column_expressions import ColumnScope
from ghcm.codegen.native.column_text import Column, Unsupported
from ghcm.codegen.native.names import ARGUMENTS, RESERVED, Names
from ghcm.codegen.native.row_chains import Lines, bind_record, catch, loop_head, parameter_lines
from ghcm.codegen.native.row_expressions import RowScope
from ghcm.codegen.native.row_text import Binding, Code, Module, order_text
from ghcm.expr import Expr, Lambda, MakeStruct
from ghcm.reducers import Aggregate
from ghcm.spg.graph import Sink, Task, Unit
from ghcm.spg.ops import EventTime, Publish, Sort, Top
from ghcm.types import Collection, Struct, Type, is_nullable, strip

__all__ = ["expression_function", "order_functions", "policy_functions", "sink_key", "time_functions"]


Made: TypeAlias = tuple[bool, list[str], list[str]]
Make: TypeAlias = Callable[[RowScope, dict[str, Code], str], Made]
"""From scope, columns and record to: can it fail, the lines that may, and the lines that emit."""


def input_of(task: Task, unit: Unit, ordinal: int = 0) -> Collection:
    return unit.task(task.inputs[ordinal].producer).collection


def scope_of(module: Module) -> RowScope:
    return RowScope(module, Names(RESERVED | ARGUMENTS | module.names.taken))


def per_row(task_id: str, collection: Collection, module: Module, name: str, given: str, make: Make) -> str:
    """A function that gives one thing for each row, None where the row is dead or `make` says so."""
    scope = scope_of(module)
    columns = {part.name: Code(scope.names.new(part.name), simple=True) for part in collection.columns.fields}
    out = Lines(depth=2)
    record = _record(collection.element, columns)
    fails, lines, value = make(scope, columns, record)
    if fails:
        catch(out, task_id, record, *lines)
        if lines:
            out.lines.insert(-1, "            emit(None)")
    else:
        out.add(*lines)
    out.add(*value)
    body = "\n".join(out.lines)
    heads = [code.text for code in columns.values()]
    top = Lines()
    top.add(*parameter_lines(scope), f"result: list[{given} | None] = []", "emit = result.append")
    top.add(loop_head(heads, body, timed=collection.timed))
    head = f"def {name}(rows: Sequence[Row], dead: Dead, parameters: Parameters) -> list[{given} | None]:"
    return "\n".join([head, *top.lines, body, "    return result"])


def _record(element: Type, columns: dict[str, Code]) -> str:
    if isinstance(element, Struct):
        return Binding(columns={name: columns[name] for name in element.names}).whole().text
    return columns["value"].text


# --- event time ------------------------------------------------------------------------------------------------------


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


# --- order -----------------------------------------------------------------------------------------------------------


def order_functions(
    task: Task, op: Sort | Top, unit: Unit, name: str, module: Module
) -> tuple[list[str], Unsupported | None]:
    """`<name>_by`, which gives the sort keys of rows, and `<name>_by_columns`."""
    collection, by = input_of(task, unit), op.by
    last = isinstance(op, Top) and not op.descending and is_nullable(by.body.type)
    key = order_text(strip(by.body.type)) if last else order_text(by.body.type)
    key = (
        module.constant("_by", f"order.null_last({key})")
        if last
        else (key if "(" not in key else module.constant("_by", key))
    )
    whole = order_text(collection.element)
    plain = whole == "order.plain" or (isinstance(collection.element, Struct) and plainly_ordered(collection.element))
    tie = whole if plain or "(" not in whole else module.constant("_tie", whole)

    def make(scope: RowScope, columns: dict[str, Code], record: str) -> Made:
        scope.bind(by.parameters[0], bind_record(by.parameters[0], columns))
        code = scope.value(by.body)
        fails = can_fail(by.body)
        lines = [f"by = {code.inner}"] if fails else []
        text = "by" if fails else code.inner
        one = text if key == "order.plain" else f"{key}({text})"
        two = record if plain else f"{tie}({record})"
        return fails, lines, [f"emit(({one}, {two}))"]

    texts = [per_row(task.id, collection, module, f"{name}_by", "tuple[object, object]", make)]
    scope = ColumnScope()
    scope.bind(by.parameters[0])
    try:
        column, sorted_by = scope.value(by.body), by.body
        while isinstance(op, Top) and collection.windowed and isinstance(sorted_by, MakeStruct) and sorted_by.values:
            sorted_by = sorted_by.values[0]  # who is among the first by all is so by the first, of which ties stay
        if sorted_by is not by.body and is_nullable(sorted_by.type):
            raise Unsupported("nulls of tuples have another place")
        column = replace(scope.value(sorted_by), fails=column.fails)
        ties = () if isinstance(op, Top) and collection.windowed else collection.columns.fields
        if not all(map(_sorts, [sorted_by.type, *(part.type for part in ties)])):
            raise Unsupported("Polars orders no structs and lists as the language does")
    except Unsupported as reason:
        return texts, reason
    lines = "".join(f"    {line}\n" for line in guard(column.fails))
    texts.append(
        f"def {name}_by_columns(frame: pl.DataFrame, parameters: Parameters) -> pl.DataFrame | None:\n"
        f'{lines}    return frame.with_columns({column.at(7)}.alias("@by"))'
    )
    return texts, None


def _sorts(type_: Type) -> bool:
    from ghcm.types import List, Map

    return not isinstance(strip(type_), Struct | List | Map)


# --- sinks, reads, policies ------------------------------------------------------------------------------------------


def sink_key(task: Task, sink: Sink, unit: Unit, name: str, module: Module) -> str | None:
    """`<name>_key`, the key of a row; None where the sink has none."""
    if sink.key is None:
        return None
    scope = scope_of(module)
    _bind_row(scope, sink.key, input_of(task, unit))
    return f"def {name}_key(row: Row) -> object:\n    return {scope.value(sink.key.body).inner}"


def _bind_row(scope: RowScope, function: Lambda, collection: Collection) -> None:
    columns = {part: Code(f"row[{index}]", simple=True) for index, part in enumerate(collection.columns.names)}
    scope.bind(function.parameters[0], bind_record(function.parameters[0], columns))


def expression_function(name: str, expr: Expr, module: Module) -> str:
    """A function of the parameters alone."""
    scope = scope_of(module)
    code = scope.value(expr)
    lines = [*parameter_lines(scope), f"return {code.inner}"]
    return "\n".join([f"def {name}(parameters: Parameters) -> object:", *(f"    {line}" for line in lines)])


def policy_functions(task: Task, op: Publish, unit: Unit, name: str, module: Module) -> list[str]:
    """`<name>_add`, `<name>_arguments`, the constant `_<name>_zero` and, where the policy has a condition,
    `<name>_when`.
    """
    collection = input_of(task, unit)
    gathered = [(wanted, each) for wanted, each in op.call.arguments if isinstance(each, Aggregate)]
    fixed = [(wanted, each) for wanted, each in op.call.arguments if not isinstance(each, Aggregate)]
    zeros = [zero_text(each) for _, each in gathered]
    module.constants[f"_{name}_zero"] = f"({', '.join(zeros)}{',' if len(zeros) == 1 else ''})"
    module.names.taken.add(f"_{name}_zero")
    scope = scope_of(module)
    lines: list[str] = []
    values: list[str] = []
    for index, (wanted, each) in enumerate(gathered):
        local = _of_row(scope, each.argument, wanted, collection, lines)
        place = "row[-2]" if each.by_time else _of_row(scope, each.order, f"{wanted}_by", collection, lines)
        values.append(add_text(module, each, f"state[{index}]", Added(local, place, _whole(collection))))
    lines.append(f"return ({', '.join(values)}{',' if len(values) == 1 else ''})")
    texts = [_function(f"{name}_add", "state: Any, row: Row", "Any", [*parameter_lines(scope), *lines])]
    scope = scope_of(module)
    pairs = [
        f'"{wanted}": {result_text(module, each, f"state[{index}]")}' for index, (wanted, each) in enumerate(gathered)
    ]
    pairs += [f'"{wanted}": {scope.value(each).inner}' for wanted, each in fixed]
    texts.append(
        _function(
            f"{name}_arguments",
            "state: Any",
            "dict[str, object]",
            [*parameter_lines(scope), f"return {{{', '.join(pairs)}}}"],
        )
    )
    if op.policy.when is not None:
        scope = scope_of(module)
        _bind_row(scope, op.policy.when, collection)
        test = scope.truth(op.policy.when.body)
        text = f"return bool({test.inner})" if is_nullable(op.policy.when.body.type) else f"return {test.inner}"
        texts.append(_function(f"{name}_when", "row: Row", "bool", [*parameter_lines(scope), text]))
    return texts


def _of_row(scope: RowScope, function: Lambda | None, wish: str, collection: Collection, lines: list[str]) -> str:
    """The local variable of a function of the row."""
    if function is None:
        return ""
    local = scope.names.new(wish)
    _bind_row(scope, function, collection)
    lines.append(f"{local} = {scope.value(function.body).inner}")
    return local


def _whole(collection: Collection) -> str:
    """The record of a row, which has its time and watermark behind it."""
    element = collection.element
    if not isinstance(element, Struct):
        return "row[0]"
    return f"row[:{len(element.fields)}]" if collection.timed else "row"


def _function(name: str, arguments: str, gives: str, lines: list[str]) -> str:
    head = f"def {name}({arguments}, parameters: Parameters) -> {gives}:"
    return "\n".join([head, *(f"    {line}" for line in lines)])
