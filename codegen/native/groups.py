"""Keyed aggregations: functions over the state of one key, and the columnar pre-aggregation of a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ghcm.codegen.native.aggregates import Added, add_text, merge_text, partial_of, result_text, zero_text
from ghcm.codegen.native.column_text import Unsupported
from ghcm.codegen.native.group_columns import Grouping, argument_columns, columnar_functions
from ghcm.codegen.native.listed import gathered
from ghcm.codegen.native.names import ARGUMENTS, RESERVED, Names
from ghcm.codegen.native.reducers import Partial, Reduction
from ghcm.codegen.native.row_expressions import RowScope
from ghcm.codegen.native.row_lines import parameter_lines
from ghcm.codegen.native.row_text import Binding, Code, Module, order_text, targets_text, tuple_text
from ghcm.expr import Lambda
from ghcm.reducers import Aggregate
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import AggregateByKey, Count, GroupByKey, ReduceByKey
from ghcm.types import Shape, Type

GroupOp = ReduceByKey | AggregateByKey | GroupByKey | Count


@dataclass(frozen=True, slots=True)
class GroupText:
    """The functions' texts; `partial` is the reason where there is no pre-aggregation; `columnar` are the names of the
    columnar functions."""

    functions: tuple[str, ...]
    partial: Unsupported | None
    timed: bool = False
    columnar: tuple[str, ...] = ()


def group_code(task: Task, op: GroupOp, unit: Unit, name: str, module: Module) -> GroupText:
    """The functions `<name>_first`, `_add`, `_merge`, `_result` and, where Polars can, `_partial` and `_states`, and
    then perhaps `_merged` and `_results`.
    """
    element = unit.task(task.inputs[0].producer).collection
    value = element.columns.get("value")
    keyed = element.shape is not Shape.STREAM
    grouping = Grouping(name, element.windowed, keyed, task.schema.names, task.collection.timed)
    writer = _Writer(name, module)
    match op:
        case ReduceByKey(reducer=reducer):
            found = Reduction(module, reducer)
            functions = _functions(
                writer,
                first=lambda scope: found.first("value"),
                add=lambda scope: found.add("state", "value", scope),
                merge=lambda scope: found.merge("left", "right", scope),
                result=lambda scope: found.result("state", scope),
            )
            return _with_columns(functions, lambda: columnar_functions(grouping, [found.partial('pl.col("value")')]))
        case AggregateByKey(aggregates=aggregates, scalar=scalar):
            functions = _aggregate_functions(writer, aggregates, scalar=scalar)
            return _with_columns(
                functions, lambda: _aggregate_columns(grouping, module, op), timed=_by_time(aggregates)
            )
        case GroupByKey():
            assert value is not None
            listed = value.type
            functions = _list_functions(writer, listed)
            return _with_columns(functions, lambda: columnar_functions(grouping, [_list_partial(listed)]))
        case Count():
            functions = _functions(
                writer,
                first=lambda scope: "1",
                add=lambda scope: "state + 1",
                merge=lambda scope: "left + right",
                result=lambda scope: "state",
            )
            return _with_columns(functions, lambda: columnar_functions(grouping, [_COUNTED]))


_COUNTED = Partial((("s", "pl.len().cast(pl.Int64)"),), "s", merged=('pl.col("s").sum()',), result='pl.col("s")')


@dataclass(frozen=True, slots=True)
class _Writer:
    name: str
    module: Module

    def scope(self) -> RowScope:
        return RowScope(self.module, Names(RESERVED | ARGUMENTS | self.module.names.taken))

    def define(self, name: str, arguments: tuple[str, ...], lines: Callable[[RowScope], list[str]]) -> str:
        scope = self.scope()
        body = lines(scope)
        given = "".join(f"{argument}: Any, " for argument in arguments)
        head = f"def {self.name}_{name}({given}parameters: Parameters) -> Any:"
        return "\n".join([head, *(f"    {line}" for line in [*parameter_lines(scope), *body])])


def _functions(writer: _Writer, **texts: Callable[[RowScope], str]) -> list[str]:
    arguments = {"first": ("value",), "add": ("state", "value"), "merge": ("left", "right"), "result": ("state",)}

    def define(name: str, text: Callable[[RowScope], str]) -> str:
        return writer.define(name, arguments[name], lambda scope: [f"return {text(scope)}"])

    return [define(name, text) for name, text in texts.items()]


def _aggregate_functions(writer: _Writer, aggregates: tuple[Aggregate, ...], *, scalar: bool) -> list[str]:
    """`_add`, `_first`, `_merge` and `_result`: the state has one item for each aggregate."""
    names = Names(RESERVED | ARGUMENTS | writer.module.names.taken)
    states = [names.new(aggregate.name) for aggregate in aggregates]
    zero = _zero(writer, aggregates)
    merged = [
        merge_text(writer.module, each, f"left[{index}]", f"right[{index}]") for index, each in enumerate(aggregates)
    ]

    def result(scope: RowScope) -> str:
        found = [result_text(writer.module, each, f"state[{index}]") for index, each in enumerate(aggregates)]
        return found[0] if scalar else tuple_text(found)

    return [
        writer.define("add", ("state", "value"), lambda scope: _added(scope, aggregates, states)),
        *_functions(
            writer,
            first=lambda scope: f"{writer.name}_add({zero}, value, parameters)",
            merge=lambda scope: tuple_text(merged),
            result=result,
        ),
    ]


def _zero(writer: _Writer, aggregates: tuple[Aggregate, ...]) -> str:
    """The name of the state of no values."""
    return writer.module.constant(f"_{writer.name}_zero", tuple_text([zero_text(each) for each in aggregates]))


def _added(scope: RowScope, aggregates: tuple[Aggregate, ...], states: list[str]) -> list[str]:
    """The lines that return the state with one more value."""
    lines = ["time, value = value"] if _by_time(aggregates) else list[str]()
    values: list[str] = []
    for aggregate, state in zip(aggregates, states, strict=True):
        argument = _local(scope, aggregate.argument, f"{state}_of", lines)
        place = "time" if aggregate.by_time else _local(scope, aggregate.order, f"{state}_by", lines)
        values.append(add_text(scope.module, aggregate, state, Added(argument, place, "value")))
    return [*lines, f"{targets_text(states)} = state", f"return {tuple_text(values)}"]


def _by_time(aggregates: tuple[Aggregate, ...]) -> bool:
    return any(aggregate.by_time for aggregate in aggregates)


def _aggregate_columns(grouping: Grouping, module: Module, op: AggregateByKey) -> dict[str, str]:
    """The columnar functions; Unsupported where Polars cannot."""
    prepared, columns = argument_columns(op.aggregates)
    arguments = (f"{letter}{index}" for letter in "ab" for index in range(len(op.aggregates)))
    names = Names({*RESERVED, "key", "start", "end", *arguments})
    parts = [partial_of(module, each, added, names) for each, added in zip(op.aggregates, columns, strict=True)]
    fields = None if op.scalar else [each.name for each in op.aggregates]
    return columnar_functions(grouping, parts, prepared, always=True, fields=fields)


def totals_functions(name: str, aggregates: tuple[Aggregate, ...], module: Module) -> tuple[str, list[str]]:
    """Aggregates of whole records without groups: the name of their first state, `<name>_add` and `<name>_result`."""
    writer = _Writer(name, module)
    add, _, _, result = _aggregate_functions(writer, aggregates, scalar=False)
    return _zero(writer, aggregates), [add, result]


def _local(scope: RowScope, function: Lambda | None, wish: str, lines: list[str]) -> str:
    """The text of a function of the value, by a line of its own where it is not cheap to repeat."""
    if function is None:
        return ""
    scope.bind(function.parameters[0], Binding(value=Code("value", simple=True)))
    code = scope.value(function.body)
    if code.simple and not code.written:
        return code.text
    name = scope.names.new(wish)
    lines.append(f"{name} = {code.inner}")
    return name


def _list_functions(writer: _Writer, value: Type) -> list[str]:
    key = order_text(value)
    ordered = "sorted(state)" if key == "order.plain" else f"sorted(state, key={writer.module.order(value)})"
    return [
        *_functions(writer, first=lambda scope: "[value]"),
        writer.define("add", ("state", "value"), lambda scope: ["state.append(value)", "return state"]),
        writer.define("merge", ("left", "right"), lambda scope: ["left.extend(right)", "return left"]),
        *_functions(writer, result=lambda scope: ordered),
    ]


def _list_partial(value: Type) -> Partial:
    return Partial((("s", gathered('pl.col("value")', value)),), "s")


def _with_columns(functions: list[str], make: Callable[[], dict[str, str]], *, timed: bool = False) -> GroupText:
    try:
        columnar = make()
    except Unsupported as reason:
        return GroupText(tuple(functions), reason, timed)
    return GroupText((*functions, *columnar.values()), None, timed, tuple(columnar))
