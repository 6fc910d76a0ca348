"""Functions of single tasks: event times, sort keys, the keys of sinks, the policies of published calls, and the rounds
of iterations.
"""

from __future__ import annotations

from dataclasses import replace

from ghcm.codegen.expressions import can_fail, plainly_ordered
from ghcm.codegen.native.aggregates import Added, add_text, result_text, zero_text
from ghcm.codegen.native.columns.expressions import ColumnScope, frame_function, guard
from ghcm.codegen.native.columns.text import Column, Unsupported
from ghcm.codegen.native.groups import totals_functions
from ghcm.codegen.native.rows.expressions import RowScope
from ghcm.codegen.native.rows.lines import (
    Made,
    bind_record,
    condition_function,
    condition_line,
    expression_function,
    input_of,
    per_row,
    scope_function,
    scope_of,
)
from ghcm.codegen.native.rows.text import Code, Module, order_text, tuple_text
from ghcm.codegen.native.texts import ATOM
from ghcm.expr import Lambda, MakeStruct
from ghcm.reducers import Aggregate
from ghcm.spg.graph import Sink, Task, Unit
from ghcm.spg.ops import EventTime, Iterate, Publish, Sort, Top
from ghcm.types import Collection, List, Map, Struct, Type, is_nullable, strip


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
        lines += guard(Column(f"{column.at(ATOM)}.is_null()"))
    micros = f'columns.micros({column.text}).alias("time")'
    lines.append(f'return columns.fill(frame, {micros}).get_column("time")')
    return [*texts, frame_function(f"{name}_times_columns", lines, "pl.Series | None")], None


def order_functions(
    task: Task, op: Sort | Top, unit: Unit, name: str, module: Module
) -> tuple[list[str], Unsupported | None]:
    """`<name>_by`, which gives the sort keys of rows, and `<name>_by_columns`."""
    collection = input_of(task, unit)
    by_rows = _by_rows(task, op, collection, name, module)
    try:
        return [by_rows, _by_columns(op, collection, name)], None
    except Unsupported as reason:
        return [by_rows], reason


def _by_rows(task: Task, op: Sort | Top, collection: Collection, name: str, module: Module) -> str:
    """Of each record its key and, for ties, the record itself."""
    by = op.by
    last = isinstance(op, Top) and not op.descending and is_nullable(by.body.type)
    key = order_text(strip(by.body.type)) if last else order_text(by.body.type)
    if last:
        key = module.constant("_by", f"order.null_last({key})")
    elif "(" in key:
        key = module.constant("_by", key)
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

    return per_row(task.id, collection, module, f"{name}_by", "tuple[object, object]", make)


def _by_columns(op: Sort | Top, collection: Collection, name: str) -> str:
    """The frame with its keys as the column `@by`; Unsupported where Polars would order them, or ties, otherwise."""
    by, scope = op.by, ColumnScope()
    scope.bind(by.parameters[0])
    column, sorted_by = scope.value(by.body), by.body
    while isinstance(op, Top) and collection.windowed and isinstance(sorted_by, MakeStruct) and sorted_by.values:
        sorted_by = sorted_by.values[0]  # who is among the first by all is so by the first, of which ties stay
    if sorted_by is not by.body and is_nullable(sorted_by.type):
        raise Unsupported("nulls of tuples have another place")
    column = replace(scope.value(sorted_by), fails=column.fails)
    ties = () if isinstance(op, Top) and collection.windowed else collection.columns.fields
    if not all(map(_sorts, [sorted_by.type, *(part.type for part in ties)])):
        raise Unsupported("Polars orders no structs and lists as the language does")
    keyed = f'return frame.with_columns({column.at(ATOM)}.alias("@by"))'
    return frame_function(f"{name}_by_columns", [*guard(column.fails), keyed])


def _sorts(type_: Type) -> bool:
    return not isinstance(strip(type_), Struct | List | Map)


def sink_key(task: Task, sink: Sink, unit: Unit, name: str, module: Module) -> str | None:
    """`<name>_key`, the key of a row; None where the sink has none."""
    if sink.key is None:
        return None
    scope = scope_of(module)
    _bind_row(scope, sink.key, input_of(task, unit))
    return f"def {name}_key(row: Row) -> object:\n    return {scope.value(sink.key.body).inner}"


def policy_functions(task: Task, op: Publish, unit: Unit, name: str, module: Module) -> list[str]:
    """`<name>_add`, `<name>_arguments`, the constant `_<name>_zero` and, where the policy has a condition,
    `<name>_when`.
    """
    collection = input_of(task, unit)
    gathered = [(wanted, each) for wanted, each in op.call.arguments if isinstance(each, Aggregate)]
    fixed = [(wanted, each) for wanted, each in op.call.arguments if not isinstance(each, Aggregate)]
    zeros = [zero_text(each) for _, each in gathered]
    module.constants[f"_{name}_zero"] = tuple_text(zeros)
    module.names.taken.add(f"_{name}_zero")
    scope = scope_of(module)
    lines: list[str] = []
    values: list[str] = []
    for index, (wanted, each) in enumerate(gathered):
        local = _of_row(scope, each.argument, wanted, collection, lines)
        order = "row[-2]" if each.by_time else _of_row(scope, each.order, f"{wanted}_by", collection, lines)
        values.append(add_text(module, each, f"state[{index}]", Added(local, order, _whole(collection))))
    lines.append(f"return {tuple_text(values)}")
    texts = [scope_function(scope, f"{name}_add", "state: Any, row: Row, ", "Any", *lines)]
    scope = scope_of(module)
    pairs = [
        f'"{wanted}": {result_text(module, each, f"state[{index}]")}' for index, (wanted, each) in enumerate(gathered)
    ]
    pairs += [f'"{wanted}": {scope.value(each).inner}' for wanted, each in fixed]
    returned = f"return {{{', '.join(pairs)}}}"
    texts.append(scope_function(scope, f"{name}_arguments", "state: Any, ", "dict[str, object]", returned))
    if op.policy.when is not None:
        scope = scope_of(module)
        _bind_row(scope, op.policy.when, collection)
        test = condition_line(scope, op.policy.when.body)
        texts.append(scope_function(scope, f"{name}_when", "row: Row, ", "bool", test))
    return texts


def _bind_row(scope: RowScope, function: Lambda, collection: Collection) -> None:
    columns = {part: Code(f"row[{index}]", simple=True) for index, part in enumerate(collection.columns.names)}
    scope.bind(function.parameters[0], bind_record(function.parameters[0], columns))


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


def iterate_functions(op: Iterate, name: str, module: Module) -> tuple[list[str], dict[str, str]]:
    """`<name>_limit`, `<name>_until`, and `_add` and `_result` of the totals of both sides; and the parts of the entry
    in `TASKS` that name them.
    """
    functions = [expression_function(f"{name}_limit", op.limit, module)]
    entry = {"limit": f"{name}_limit"}
    if op.until is None:
        return functions, entry
    functions.append(condition_function(f"{name}_until", op.until.condition, ("before", "after"), module))
    entry["until"] = f"{name}_until"
    for side, aggregates in (("before", op.until.before), ("after", op.until.after)):
        if aggregates:
            zero, texts = totals_functions(f"{name}_{side}", aggregates, module)
            functions += texts
            entry[side] = f"TotalsCode({zero}, {name}_{side}_add, {name}_{side}_result)"
    return functions, entry
