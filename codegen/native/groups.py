"""Keyed aggregations: functions over the state of one key, and the columnar pre-aggregation of a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ghcm.codegen.native.aggregates import Added, add_text, merge_text, partial_of, result_text, zero_text
from ghcm.codegen.native.column_chains import guard
from ghcm.codegen.native.column_expressions import ColumnScope
from ghcm.codegen.native.column_text import ATOM, Unsupported, varies
from ghcm.codegen.native.listed import gathered
from ghcm.codegen.native.names import ARGUMENTS, RESERVED, Names
from ghcm.codegen.native.reducers import Partial, Reduction, all_merged, struct_result
from ghcm.codegen.native.row_expressions import RowScope
from ghcm.codegen.native.row_lines import parameter_lines
from ghcm.codegen.native.row_text import Binding, Code, Module, order_text, targets_text, tuple_text
from ghcm.expr import Lambda
from ghcm.reducers import Aggregate
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import AggregateByKey, Count, GroupByKey, ReduceByKey
from ghcm.types import Shape, Type

__all__ = ["GroupText", "group_code", "totals_functions"]

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
    given = task.collection
    writer = _Writer(name, module, element.windowed, element.shape is not Shape.STREAM, task.schema.names, given.timed)
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
            return _with_partial(writer, functions, [], lambda: [_COUNTED])


_COUNTED = Partial((("s", "pl.len().cast(pl.Int64)"),), "s", merged=('pl.col("s").sum()',), result='pl.col("s")')


@dataclass(frozen=True, slots=True)
class _Writer:
    name: str
    module: Module
    windowed: bool
    keyed: bool
    given: tuple[str, ...] = ()
    timed: bool = False

    @property
    def keys(self) -> list[str]:
        """The columns by which groups are told apart once they were."""
        return [*(["key"] if self.keyed else []), *(["start", "end"] if self.windowed else [])]

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
    zero = writer.module.constant(f"_{writer.name}_zero", tuple_text(zeros))

    timed = any(aggregate.by_time for aggregate in op.aggregates)

    def add(scope: RowScope) -> list[str]:
        lines = ["time, value = value"] if timed else list[str]()
        values: list[str] = []
        for aggregate, state in zip(op.aggregates, states, strict=True):
            argument = _local(scope, aggregate.argument, f"{state}_of", lines)
            place = "time" if aggregate.by_time else _local(scope, aggregate.order, f"{state}_by", lines)
            values.append(add_text(writer.module, aggregate, state, Added(argument, place, "value")))
        return [*lines, f"{targets_text(states)} = state", f"return {tuple_text(values)}"]

    def result(scope: RowScope) -> str:
        found = [
            result_text(writer.module, aggregate, f"state[{index}]") for index, aggregate in enumerate(op.aggregates)
        ]
        return found[0] if op.scalar else tuple_text(found)

    merged = [
        merge_text(writer.module, each, f"left[{index}]", f"right[{index}]") for index, each in enumerate(op.aggregates)
    ]
    functions = [
        writer.define("add", ("state", "value"), add),
        *_functions(
            writer,
            first=lambda scope: f"{writer.name}_add({zero}, value, parameters)",
            merge=lambda scope: tuple_text(merged),
            result=result,
        ),
    ]
    try:
        prepared, columns = _arguments(op.aggregates)
        names = Names(
            {*RESERVED, "key", "start", "end", *(f"{letter}{index}" for letter in "ab" for index in range(len(states)))}
        )
        parts = [
            partial_of(writer.module, aggregate, added, names)
            for aggregate, added in zip(op.aggregates, columns, strict=True)
        ]
    except Unsupported as reason:
        return GroupText(tuple(functions), reason, timed)
    result_names = None if op.scalar else [each.name for each in op.aggregates]
    return _with_partial(writer, functions, prepared, lambda: parts, always=True, timed=timed, fields=result_names)


def totals_functions(name: str, aggregates: tuple[Aggregate, ...], module: Module) -> tuple[str, list[str]]:
    """Aggregates of whole records without groups: the name of their first state, `<name>_add` and `<name>_result`."""
    found = _aggregates(_Writer(name, module, windowed=False, keyed=False), AggregateByKey(aggregates))
    zero = module.constant(f"_{name}_zero", tuple_text([zero_text(each) for each in aggregates]))
    return zero, [text for text in found.functions if text.startswith((f"def {name}_add(", f"def {name}_result("))]


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


def _arguments(aggregates: tuple[Aggregate, ...]) -> tuple[list[str], list[Added]]:
    """The lines before Polars groups, and for each aggregate the texts of its columns; constants need a column of
    their own.
    """
    lines: list[str] = []
    constants: list[str] = []
    texts: list[Added] = []

    def column_text(function: Lambda | None, name: str) -> str:
        if function is None:
            return ""
        scope = ColumnScope()
        scope.bind_column(function.parameters[0], "value")
        column = scope.value(function.body)
        lines.extend(guard(column.fails))
        if varies(function.body, column):
            return column.at(ATOM)
        constants.append(f'{column.at(ATOM)}.alias("{name}")')
        return f'pl.col("{name}")'

    for index, aggregate in enumerate(aggregates):
        argument = column_text(aggregate.argument, f"a{index}")
        place = 'pl.col("@time")' if aggregate.by_time else column_text(aggregate.order, f"b{index}")
        texts.append(Added(argument, place, 'pl.col("value")'))
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
    return _with_partial(writer, functions, [], lambda: [Partial((("s", gathered('pl.col("value")', value)),), "s")])


def _with_partial(
    writer: _Writer,
    functions: list[str],
    prepared: list[str],
    make: Callable[[], list[Partial]],
    *,
    always: bool = False,
    timed: bool = False,
    fields: list[str] | None = None,
) -> GroupText:
    try:
        parts = make()
    except Unsupported as reason:
        return GroupText(tuple(functions), reason, timed)
    keys = [*(['"key"'] if writer.keyed else []), *(["*columns.WINDOW"] if writer.windowed else [])]
    columns = [f'{text}.alias("{name}")' for part in parts for name, text in part.columns]
    grouped = _grouped("frame", ", ".join(keys), ", ".join(columns)) + _then(parts)
    floats = [f'"{name}"' for part in parts for name in part.floats]
    lines = [*prepared, f"return columns.finite({', '.join([grouped, *floats])})" if floats else f"return {grouped}"]
    partial = "\n".join(
        [
            f"def {writer.name}_partial(frame: pl.DataFrame, parameters: Parameters) -> pl.DataFrame | None:",
            *(f"    {line}" for line in lines),
        ]
    )
    found = {"partial": partial, "states": _states(writer.name, parts, always)}
    if text := _merged(writer, parts):
        found["merged"] = text
        if text := _results(writer, parts, fields):
            found["results"] = text
    return GroupText((*functions, *found.values()), None, timed, tuple(found))


def _merged(writer: _Writer, parts: list[Partial]) -> str:
    """The text of the function that makes one row per group; empty where there is none."""
    texts = all_merged(parts)
    if not texts:
        return ""
    orders = {part.order for part in parts if part.order}
    ordered = ""
    if len(orders) == 1:
        texts = tuple(text for part in parts for text in part.in_order or part.merged)
        ordered = f".sort({', '.join(*orders)}, nulls_last=False)"
    names = [name for part in parts for name, _ in part.columns]
    columns = ", ".join(f'{text}.alias("{name}")' for name, text in zip(names, texts, strict=True))
    keys = ", ".join(f'"{key}"' for key in writer.keys)
    grouped = _grouped(f"frame{ordered}", keys, columns) + _then(parts)
    floats = "".join(f', "{name}"' for part in parts for name in part.floats)
    return _columnar(writer, "merged", [f"return columns.finite({grouped}{floats})" if floats else f"return {grouped}"])


def _grouped(frame: str, keys: str, columns: str) -> str:
    """One row per group, in the order in which groups are met: what is run again comes out alike."""
    return f"{frame}.group_by({keys}, maintain_order=True).agg({columns})" if keys else f"{frame}.select({columns})"


def _then(parts: list[Partial]) -> str:
    """What follows once the groups are made."""
    texts = [text for part in parts for text in part.then]
    return f".with_columns({', '.join(texts)})" if texts else ""


def _results(writer: _Writer, parts: list[Partial], fields: list[str] | None) -> str:
    """The text of the function that makes the results of merged rows; empty where there is none."""
    value = struct_result(fields, parts) if fields is not None else parts[0].result
    if not value or not all(name in ("key", "value", "window") for name in writer.given):
        return ""
    texts = {"key": '"key"', "value": f'({value}).alias("value")', "window": "*columns.CLOSED"}
    columns = [texts[name] for name in writer.given]
    columns += ["*columns.CLOSED_TIMES"] if writer.windowed and writer.timed else []
    unsure = [mask for part in parts for mask in part.unsure]
    guards = [f"if columns.any_fails(frame, {' | '.join(unsure)}):", "    return None"] if unsure else []
    return _columnar(writer, "results", [*guards, f"return frame.select({', '.join(columns)})"])


def _columnar(writer: _Writer, name: str, lines: list[str]) -> str:
    head = f"def {writer.name}_{name}(frame: pl.DataFrame) -> pl.DataFrame | None:"
    return "\n".join([head, *(f"    {line}" for line in lines)])


def _states(name: str, parts: list[Partial], always: bool) -> str:
    names = [column for part in parts for column, _ in part.columns]
    state = tuple_text([part.state for part in parts]) if always else parts[0].state
    if [state] == names:
        text = f'frame["{state}"].to_list()'
    else:
        source = ", ".join(f'frame["{column}"].to_list()' for column in names)
        source = f"zip({source}, strict=True)" if len(names) > 1 else source
        text = f"[{state} for {', '.join(names)} in {source}]"
    return f"def {name}_states(frame: pl.DataFrame) -> list[Any]:\n    return {text}"
