"""Keyed aggregations: functions over the state of one key, the columnar pre-aggregation of a batch, and what is done
with groups that stay columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ghcm.codegen.native.aggregates import Added, add_text, gathered, merge_text, partial_of, result_text, zero_text
from ghcm.codegen.native.columns.expressions import ColumnScope, frame_function, guard
from ghcm.codegen.native.columns.text import Unsupported, varies
from ghcm.codegen.native.names import ARGUMENTS, RESERVED, Names
from ghcm.codegen.native.reducers import Partial, Reduction, all_merged, struct_result
from ghcm.codegen.native.rows.expressions import RowScope
from ghcm.codegen.native.rows.lines import scope_function, scope_of
from ghcm.codegen.native.rows.text import Binding, Code, Module, function_text, order_text, targets_text, tuple_text
from ghcm.codegen.native.texts import ATOM
from ghcm.expr import Lambda
from ghcm.reducers import Aggregate
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import AggregateByKey, Count, GroupByKey, ReduceByKey
from ghcm.types import Shape, Type


@dataclass(frozen=True, slots=True)
class Grouping:
    """How groups are told apart and what is said of them: `name` begins the names of their functions, `given` are the
    columns of the results, which have event times if it is `timed`."""

    name: str
    windowed: bool
    keyed: bool
    given: tuple[str, ...]
    timed: bool

    @property
    def keys(self) -> list[str]:
        """The columns by which groups are told apart once they were."""
        return [*(["key"] if self.keyed else []), *(["start", "end"] if self.windowed else [])]


def argument_columns(aggregates: tuple[Aggregate, ...]) -> tuple[list[str], list[Added]]:
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
        order = 'pl.col("@time")' if aggregate.by_time else column_text(aggregate.order, f"b{index}")
        texts.append(Added(argument, order, 'pl.col("value")'))
    return [*lines, *([f"frame = frame.with_columns({', '.join(constants)})"] if constants else [])], texts


def columnar_functions(
    grouping: Grouping,
    parts: Sequence[Partial],
    prepared: Sequence[str] = (),
    *,
    always: bool = False,
    fields: Sequence[str] | None = None,
) -> dict[str, str]:
    """The texts of `<name>_partial`, `_states` and, where groups can stay columns, `_merged` and `_results`, by what
    comes behind the name.

    `prepared` are the lines before Polars groups. `always`: a state is a tuple even if it has one part. `fields` are
    the names in a result, None where it is that of the only part.
    """
    found = {"partial": _partial(grouping, parts, prepared), "states": _states(grouping.name, parts, always)}
    if text := _merged(grouping, parts):
        found["merged"] = text
        if text := _results(grouping, parts, fields):
            found["results"] = text
    return found


def _partial(grouping: Grouping, parts: Sequence[Partial], prepared: Sequence[str]) -> str:
    """The text of the function that pre-aggregates a batch."""
    keys = [*(['"key"'] if grouping.keyed else []), *(["*columns.WINDOW"] if grouping.windowed else [])]
    columns = [f'{text}.alias("{name}")' for part in parts for name, text in part.columns]
    lines = [*prepared, _returned(_grouped("frame", ", ".join(keys), ", ".join(columns)), parts)]
    return frame_function(f"{grouping.name}_partial", lines)


def _merged(grouping: Grouping, parts: Sequence[Partial]) -> str:
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
    keys = ", ".join(f'"{key}"' for key in grouping.keys)
    grouped = _grouped(f"frame{ordered}", keys, columns)
    return _columnar(grouping, "merged", [_returned(grouped, parts)])


def _grouped(frame: str, keys: str, columns: str) -> str:
    """One row per group, in the order in which groups are met: what is run again comes out alike."""
    return f"{frame}.group_by({keys}, maintain_order=True).agg({columns})" if keys else f"{frame}.select({columns})"


def _returned(grouped: str, parts: Sequence[Partial]) -> str:
    """The line that returns the groups, with what follows once they are made; rows add floats that are not finite."""
    texts = [text for part in parts for text in part.then]
    made = f"{grouped}.with_columns({', '.join(texts)})" if texts else grouped
    floats = "".join(f', "{name}"' for part in parts for name in part.floats)
    return f"return columns.finite({made}{floats})" if floats else f"return {made}"


def _results(grouping: Grouping, parts: Sequence[Partial], fields: Sequence[str] | None) -> str:
    """The text of the function that makes the results of merged rows; empty where there is none."""
    value = struct_result(fields, parts) if fields is not None else parts[0].result
    if not value or not all(name in ("key", "value", "window") for name in grouping.given):
        return ""
    texts = {"key": '"key"', "value": f'({value}).alias("value")', "window": "*columns.CLOSED"}
    columns = [texts[name] for name in grouping.given]
    columns += ["*columns.CLOSED_TIMES"] if grouping.windowed and grouping.timed else []
    unsure = [mask for part in parts for mask in part.unsure]
    guards = [f"if columns.any_fails(frame, {' | '.join(unsure)}):", "    return None"] if unsure else []
    return _columnar(grouping, "results", [*guards, f"return frame.select({', '.join(columns)})"])


def _columnar(grouping: Grouping, name: str, lines: list[str]) -> str:
    return function_text(f"{grouping.name}_{name}(frame: pl.DataFrame) -> pl.DataFrame | None", lines)


def _states(name: str, parts: Sequence[Partial], always: bool) -> str:
    names = [column for part in parts for column, _ in part.columns]
    state = tuple_text([part.state for part in parts]) if always else parts[0].state
    if [state] == names:
        text = f'frame["{state}"].to_list()'
    else:
        source = ", ".join(f'frame["{column}"].to_list()' for column in names)
        source = f"zip({source}, strict=True)" if len(names) > 1 else source
        text = f"[{state} for {', '.join(names)} in {source}]"
    return f"def {name}_states(frame: pl.DataFrame) -> list[Any]:\n    return {text}"


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

    def define(self, name: str, arguments: tuple[str, ...], lines: Callable[[RowScope], list[str]]) -> str:
        scope = scope_of(self.module)
        given = "".join(f"{argument}: Any, " for argument in arguments)
        return scope_function(scope, f"{self.name}_{name}", given, "Any", *lines(scope))


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
        order = "time" if aggregate.by_time else _local(scope, aggregate.order, f"{state}_by", lines)
        values.append(add_text(scope.module, aggregate, state, Added(argument, order, "value")))
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
