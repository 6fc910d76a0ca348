"""Sort and top: functions that give what records are put in order by."""

from __future__ import annotations

from dataclasses import replace

from ghcm.codegen.expressions import can_fail, plainly_ordered
from ghcm.codegen.native.column_expressions import ColumnScope, guard
from ghcm.codegen.native.column_text import Unsupported
from ghcm.codegen.native.per_row import Made, input_of, per_row
from ghcm.codegen.native.row_expressions import RowScope
from ghcm.codegen.native.row_lines import bind_record
from ghcm.codegen.native.row_text import Code, Module, order_text
from ghcm.expr import MakeStruct
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Sort, Top
from ghcm.types import Collection, List, Map, Struct, Type, is_nullable, strip


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
    lines = "".join(f"    {line}\n" for line in guard(column.fails))
    return (
        f"def {name}_by_columns(frame: pl.DataFrame, parameters: Parameters) -> pl.DataFrame | None:\n"
        f'{lines}    return frame.with_columns({column.at(7)}.alias("@by"))'
    )


def _sorts(type_: Type) -> bool:
    return not isinstance(strip(type_), Struct | List | Map)
