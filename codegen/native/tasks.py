"""Single tasks: sort keys, keys of sinks and tables, policies of published calls, and iterations."""

from dataclasses import replace

from ghcm.codegen.expressions import plainly_ordered
from ghcm.codegen.native.aggregates import state_of
from ghcm.codegen.native.columns.expressions import ColumnScope, columnar, frame_function, guard
from ghcm.codegen.native.columns.text import Unsupported
from ghcm.codegen.native.groups import totals_functions
from ghcm.codegen.native.rows.expressions import RowScope
from ghcm.codegen.native.rows.lines import (
    Made,
    bind_record,
    condition_function,
    condition_line,
    expression_function,
    per_row,
    scope_function,
    scope_of,
)
from ghcm.codegen.native.rows.text import Binding, Code, tuple_text
from ghcm.codegen.native.sections import Place, Section, entry, order_text
from ghcm.codegen.native.snippets import ATOM
from ghcm.expr import Expr, Lambda, MakeStruct
from ghcm.failing import can_fail
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.spg.graph import Sink
from ghcm.spg.ops import Iterate, Publish, Sort, Top
from ghcm.spg.sequences import Scan
from ghcm.types import Collection, List, Map, Struct, Type, is_nullable, strip


def scanning(at: Place, op: Scan) -> Section:
    """`<name>_start`, of the parameters alone, and `<name>_step`, of what it gave before and a value."""
    name, scope = at.name, scope_of(at.module)
    for variable, argument in zip(op.function.parameters, ("before", "value"), strict=True):
        scope.bind(variable, Binding(value=Code(argument, simple=True)))
    text = f"return {scope.value(op.function.body).inner}"
    step = scope_function(scope, f"{name}_step", "before: Any, value: Any, ", "object", text)
    start = expression_function(f"{name}_start", op.start, at.module)
    return Section(at.task, [start, step], entry("ScanCode", start=f"{name}_start", step=f"{name}_step"))


def sorting(at: Place, op: Sort | Top) -> Section:
    """`<name>_by`, which gives the sort keys of rows, and `<name>_by_columns`; of `top` also `<name>_count`."""
    made, missing = columnar(lambda: [_by_columns(op, at.input(), at.name)])
    functions, count = [_by_rows(at, op), *made], None
    if isinstance(op, Top):
        count = f"{at.name}_count"
        functions.append(expression_function(count, op.count, at.module))
    columns = f"{at.name}_by_columns" if made else None
    return Section(at.task, functions, entry("OrderCode", by=f"{at.name}_by", count=count, columns=columns), missing)


def _by_rows(at: Place, op: Sort | Top) -> str:
    """Of each record its key and, for ties, the record itself."""
    by, collection, module = op.by, at.input(), at.module
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
        bind_record(scope, by, columns)
        code = scope.value(by.body)
        fails = can_fail(by.body)
        lines = [f"by = {code.inner}"] if fails else []
        text = "by" if fails else code.inner
        one = text if key == "order.plain" else f"{key}({text})"
        two = record if plain else f"{tie}({record})"
        return fails, lines, [f"emit(({one}, {two}))"]

    return per_row(at, collection, "by", "tuple[object, object]", make)


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


def writing(at: Place, sink: Sink) -> Section:
    """`<name>_key`, the key of a row, where the sink has one."""
    if sink.key is None:
        return Section(at.task, [], entry("SinkCode"))
    scope = scope_of(at.module)
    _bind_row(scope, sink.key, at.input())
    key = f"def {at.name}_key(row: Row) -> object:\n    return {scope.value(sink.key.body).inner}"
    return Section(at.task, [key], entry("SinkCode", key=f"{at.name}_key"))


def reading(at: Place, key: Expr) -> Section:
    """`<name>_key`, the key that a table is read for."""
    function = expression_function(f"{at.name}_key", key, at.module)
    return Section(at.task, [function], entry("ReadCode", key=f"{at.name}_key"))


def publishing(at: Place, op: Publish) -> Section:
    """`<name>_add`, `<name>_arguments`, the constant `_<name>_zero` and, where the policy has a condition and a key,
    `<name>_when` and `<name>_key`.
    """
    collection, name, module = at.input(), at.name, at.module
    gathered = [(wanted, each) for wanted, each in op.call.arguments if isinstance(each, Aggregate)]
    fixed = [(wanted, each) for wanted, each in op.call.arguments if not isinstance(each, Aggregate)]
    states = [state_of(module, each) for _, each in gathered]
    module.constants[f"_{name}_zero"] = tuple_text([each.first for each in states])
    module.names.taken.add(f"_{name}_zero")
    scope = scope_of(module)
    lines: list[str] = []
    values: list[str] = []
    for index, (wanted, each) in enumerate(gathered):
        local = _of_row(scope, each.argument, wanted, collection, lines)
        order = (
            "0"
            if each.arrival
            else "row[-2]"
            if each.by_time
            else _of_row(scope, each.order, f"{wanted}_by", collection, lines)
        )
        values.append(states[index].add.format(f"state[{index}]", local, order, _whole(collection)))
    lines.append(f"return {tuple_text(values)}")
    texts = [scope_function(scope, f"{name}_add", "state: Any, row: Row, ", "Any", *lines)]
    scope = scope_of(module)
    results = [each.result.format(f"state[{index}]") for index, each in enumerate(states)]
    pairs = [f'"{wanted}": {result}' for (wanted, _), result in zip(gathered, results, strict=True)]
    pairs += [f'"{wanted}": {scope.value(each).inner}' for wanted, each in fixed]
    returned = f"return {{{', '.join(pairs)}}}"
    texts.append(scope_function(scope, f"{name}_arguments", "state: Any, ", "dict[str, object]", returned))
    parts = {"zero": f"_{name}_zero", "add": f"{name}_add", "arguments": f"{name}_arguments"}
    if op.policy.when is not None:
        scope = scope_of(module)
        _bind_row(scope, op.policy.when, collection)
        test = condition_line(scope, op.policy.when.body)
        texts.append(scope_function(scope, f"{name}_when", "row: Row, ", "bool", test))
        parts["when"] = f"{name}_when"
    if op.policy.key is not None:
        scope, key = scope_of(module), op.policy.key
        _bind_row(scope, key, collection)
        told = f"return {module.order(key.body.type)}({scope.value(key.body).inner})"
        texts.append(scope_function(scope, f"{name}_key", "row: Row, ", "object", told))
        parts["key"] = f"{name}_key"
    return Section(at.task, texts, entry("PolicyCode", **parts))


def _bind_row(scope: RowScope, function: Lambda, collection: Collection) -> None:
    names = collection.columns.names
    bind_record(scope, function, {part: Code(f"row[{index}]", simple=True) for index, part in enumerate(names)})


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


def iterating(at: Place, op: Iterate, steps: list[Section]) -> Section:
    """`<name>_limit`, `<name>_until`, and `_add` and `_result` of the totals of both sides, behind what the tasks of
    its step have.
    """
    name, module = at.name, at.module
    functions = [expression_function(f"{name}_limit", op.limit, module)]
    tasks = ", ".join(f'"{each.task.id}": {each.entry}' for each in steps)
    parts = {"tasks": f"{{{tasks}}}", "limit": f"{name}_limit"}
    if op.until is not None:
        functions.append(condition_function(f"{name}_until", op.until.condition, ("before", "after"), module))
        parts["until"] = f"{name}_until"
        for side, aggregates in (("before", op.until.before), ("after", op.until.after)):
            if aggregates:
                zero, texts = totals_functions(f"{name}_{side}", aggregates, module)
                counts = all(each.function is AggregateFunction.COUNT and each.argument is None for each in aggregates)
                functions += texts[1:] if counts else texts
                add = None if counts else f"{name}_{side}_add"
                parts[side] = f"TotalsCode({zero}, {add}, {name}_{side}_result)"
    return Section(
        at.task,
        [*(text for each in steps for text in each.functions), *functions],
        entry("IterateCode", **parts),
        [f"{each.task.id}: {reason}" for each in steps for reason in each.missing],
    )
