"""Keyed aggregations: functions over the state of one key, and the columnar pre-aggregation of a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ghcm.codegen.native.aggregates import add_text, merge_text, partial_of, result_text, zero_text
from ghcm.codegen.native.column_chains import guard
from ghcm.codegen.native.column_expressions import ColumnScope
from ghcm.codegen.native.column_text import ATOM, Unsupported, varies
from ghcm.codegen.native.names import ARGUMENTS, RESERVED, Names
from ghcm.codegen.native.reducers import Partial, Reduction
from ghcm.codegen.native.row_chains import parameter_lines
from ghcm.codegen.native.row_expressions import RowScope
from ghcm.codegen.native.row_text import Binding, Code, Module, order_text
from ghcm.reducers import Aggregate
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import AggregateByKey, Count, GroupByKey, ReduceByKey
from ghcm.types import Date, Decimal, Duration, List, Map, Null, Shape, Struct, Timestamp, Type, strip

__all__ = ["GroupText", "group_code"]

GroupOp = ReduceByKey | AggregateByKey | GroupByKey | Count


@dataclass(frozen=True, slots=True)
class GroupText:
    """The functions' texts; `partial` is the reason where there is no pre-aggregation."""

    functions: tuple[str, ...]
    partial: Unsupported | None


def group_code(task: Task, op: GroupOp, unit: Unit, name: str, module: Module) -> GroupText:
    """The functions `<name>_first`, `_add`, `_merge`, `_result` and, where Polars can, `_partial` and `_states`."""
    element = unit.task(task.inputs[0].producer).collection
    value = element.columns.get("value")
    writer = _Writer(name, module, element.windowed, element.shape is not Shape.STREAM)
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
            return _with_partial(writer, functions, [], lambda: [found.partial('pl.col("value")')])
        case AggregateByKey():
            return _aggregates(writer, op)
        case GroupByKey():
            assert value is not None
            return _lists(writer, value.type)
        case Count():
            functions = _functions(
                writer,
                first=lambda scope: "1",
                add=lambda scope: "state + 1",
                merge=lambda scope: "left + right",
                result=lambda scope: "state",
            )
            return _with_partial(writer, functions, [], lambda: [Partial((("s", "pl.len().cast(pl.Int64)"),), "s")])


@dataclass(frozen=True, slots=True)
class _Writer:
    name: str
    module: Module
    windowed: bool
    keyed: bool

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


def _aggregates(writer: _Writer, op: AggregateByKey) -> GroupText:
    names = Names(RESERVED | ARGUMENTS | writer.module.names.taken)
    states = [names.new(aggregate.name) for aggregate in op.aggregates]
    zeros = [zero_text(aggregate) for aggregate in op.aggregates]
    zero = writer.module.constant(f"_{writer.name}_zero", _tuple(zeros))

    def add(scope: RowScope) -> list[str]:
        lines: list[str] = []
        values: list[str] = []
        for aggregate, state in zip(op.aggregates, states, strict=True):
            argument = ""
            if aggregate.argument is not None:
                scope.bind(aggregate.argument.parameters[0], Binding(value=Code("value", simple=True)))
                code = scope.value(aggregate.argument.body)
                cheap = code.simple and not code.written
                argument = code.text if cheap else scope.names.new(f"{state}_of")
                lines += [] if cheap else [f"{argument} = {code.inner}"]
            values.append(add_text(writer.module, aggregate, state, argument))
        return [*lines, f"{_targets(states)} = state", f"return {_tuple(values)}"]

    def result(scope: RowScope) -> str:
        found = [result_text(aggregate, f"state[{index}]") for index, aggregate in enumerate(op.aggregates)]
        return found[0] if op.scalar else _tuple(found)

    merged = [
        merge_text(writer.module, each, f"left[{index}]", f"right[{index}]") for index, each in enumerate(op.aggregates)
    ]
    functions = [
        writer.define("add", ("state", "value"), add),
        *_functions(
            writer,
            first=lambda scope: f"{writer.name}_add({zero}, value, parameters)",
            merge=lambda scope: _tuple(merged),
            result=result,
        ),
    ]
    try:
        prepared, columns = _arguments(op.aggregates)
        names = Names({*RESERVED, "key", "start", "end", *(f"a{index}" for index in range(len(states)))})
        parts = [partial_of(aggregate, column, names) for aggregate, column in zip(op.aggregates, columns, strict=True)]
    except Unsupported as reason:
        return GroupText(tuple(functions), reason)
    return _with_partial(writer, functions, prepared, lambda: parts, always=True)


def _arguments(aggregates: tuple[Aggregate, ...]) -> tuple[list[str], list[str]]:
    """The lines before Polars groups, and for each aggregate the text of its argument; constants need a column of
    their own.
    """
    lines: list[str] = []
    constants: list[str] = []
    texts: list[str] = []
    for index, aggregate in enumerate(aggregates):
        if aggregate.argument is None:
            texts.append("")
            continue
        scope = ColumnScope()
        scope.bind_column(aggregate.argument.parameters[0], "value")
        column = scope.value(aggregate.argument.body)
        lines += guard(column.fails)
        texts.append(column.at(ATOM))
        if not varies(aggregate.argument.body, column):
            constants.append(f'{column.at(ATOM)}.alias("a{index}")')
            texts[-1] = f'pl.col("a{index}")'
    return [*lines, *([f"frame = frame.with_columns({', '.join(constants)})"] if constants else [])], texts


def _lists(writer: _Writer, value: Type) -> GroupText:
    key = order_text(value)
    ordered = "sorted(state)" if key == "order.plain" else f"sorted(state, key={writer.module.order(value)})"
    functions = _functions(
        writer,
        first=lambda scope: "[value]",
        add=lambda scope: "state + [value]",
        merge=lambda scope: "left + right",
        result=lambda scope: ordered,
    )
    functions[1] = writer.define("add", ("state", "value"), lambda scope: ["state.append(value)", "return state"])
    functions[2] = writer.define("merge", ("left", "right"), lambda scope: ["left.extend(right)", "return left"])
    return _with_partial(writer, functions, [], lambda: [_list_partial(value)])


def _list_partial(value: Type) -> Partial:
    """The values of a key as a list of canonical values."""
    match strip(value):
        case Struct() | List() | Map() | Decimal() | Null():
            raise Unsupported(f"lists of {value} are not canonical in Polars")
        case Timestamp() | Duration():
            return Partial((("s", 'pl.col("value").cast(pl.Int64)'),), "s")
        case Date():
            return Partial((("s", 'pl.col("value").cast(pl.Int32)'),), "s")
        case _:
            return Partial((("s", 'pl.col("value")'),), "s")


def _with_partial(
    writer: _Writer,
    functions: list[str],
    prepared: list[str],
    make: Callable[[], list[Partial]],
    *,
    always: bool = False,
) -> GroupText:
    try:
        parts = make()
    except Unsupported as reason:
        return GroupText(tuple(functions), reason)
    keys = [*(['"key"'] if writer.keyed else []), *(["*columns.WINDOW"] if writer.windowed else [])]
    columns = [f'{text}.alias("{name}")' for part in parts for name, text in part.columns]
    grouped = (
        f"frame.group_by({', '.join(keys)}).agg({', '.join(columns)})"
        if keys
        else f"frame.select({', '.join(columns)})"
    )
    floats = [f'"{name}"' for part in parts for name in part.floats]
    lines = [*prepared, f"return columns.finite({', '.join([grouped, *floats])})" if floats else f"return {grouped}"]
    partial = "\n".join(
        [
            f"def {writer.name}_partial(frame: pl.DataFrame, parameters: Parameters) -> pl.DataFrame | None:",
            *(f"    {line}" for line in lines),
        ]
    )
    return GroupText((*functions, partial, _states(writer.name, parts, always)), None)


def _states(name: str, parts: list[Partial], always: bool) -> str:
    names = [column for part in parts for column, _ in part.columns]
    state = _tuple([part.state for part in parts]) if always else parts[0].state
    if [state] == names:
        text = f'frame["{state}"].to_list()'
    else:
        source = ", ".join(f'frame["{column}"].to_list()' for column in names)
        source = f"zip({source}, strict=True)" if len(names) > 1 else source
        text = f"[{state} for {', '.join(names)} in {source}]"
    return f"def {name}_states(frame: pl.DataFrame) -> list[Any]:\n    return {text}"


def _tuple(texts: list[str]) -> str:
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _targets(names: list[str]) -> str:
    return f"{', '.join(names)}{',' if len(names) == 1 else ''}"
