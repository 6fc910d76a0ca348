"""Ends: the keys of sinks and the policies of published calls."""

from __future__ import annotations

from ghcm.codegen.native.aggregates import Added, add_text, result_text, zero_text
from ghcm.codegen.native.per_row import input_of, scope_of
from ghcm.codegen.native.row_expressions import RowScope
from ghcm.codegen.native.row_lines import bind_record, parameter_lines
from ghcm.codegen.native.row_text import Code, Module, tuple_text
from ghcm.expr import Lambda
from ghcm.reducers import Aggregate
from ghcm.spg.graph import Sink, Task, Unit
from ghcm.spg.ops import Publish
from ghcm.types import Collection, Struct, is_nullable


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
        place = "row[-2]" if each.by_time else _of_row(scope, each.order, f"{wanted}_by", collection, lines)
        values.append(add_text(module, each, f"state[{index}]", Added(local, place, _whole(collection))))
    lines.append(f"return {tuple_text(values)}")
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


def _function(name: str, arguments: str, gives: str, lines: list[str]) -> str:
    head = f"def {name}({arguments}, parameters: Parameters) -> {gives}:"
    return "\n".join([head, *(f"    {line}" for line in lines)])
