"""Keyed aggregations: functions over the state of one key, the columnar pre-aggregation of a batch, and what is done
with groups that stay columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ghcm.codegen.native.aggregates import Added, gathered, partial_of, state_of
from ghcm.codegen.native.chains import panes_of
from ghcm.codegen.native.columns.expressions import ColumnScope, frame_function, guard
from ghcm.codegen.native.columns.text import Unsupported, varies
from ghcm.codegen.native.names import ARGUMENTS, RESERVED, Names
from ghcm.codegen.native.reducers import Partial, State, all_merged, reduced, struct_result
from ghcm.codegen.native.reducers import state_of as state_of_reducer
from ghcm.codegen.native.rows.expressions import RowScope
from ghcm.codegen.native.rows.lines import scope_function, scope_of
from ghcm.codegen.native.rows.text import Binding, Code, function_text, targets_text, tuple_text
from ghcm.codegen.native.sections import Module, Place, Section, entry
from ghcm.codegen.native.snippets import ATOM
from ghcm.expr import Lambda
from ghcm.reducers import Aggregate, Custom
from ghcm.spg.ops import AggregateByKey, Count, GroupByKey, ReduceByKey
from ghcm.types import Collection, Shape, Struct, Type

_ALL = 'pl.lit(0).alias("@all")'


@dataclass(frozen=True, slots=True)
class Grouping:
    """How groups are told apart and what is said of them: `name` begins the names of their functions, `given` are the
    columns of the results, which have event times if it is `timed`."""

    name: str
    windowed: bool
    keyed: bool
    given: tuple[str, ...]
    timed: bool
    spread: bool = False
    """Whether the parts of a result are columns of their own."""

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
    columns = ", ".join(f'{text}.alias("{name}")' for part in parts for name, text in part.columns)
    key = '"key"' if grouping.keyed else None
    if grouping.windowed:
        grouped = f"columns.in_windows(frame, {key}, {columns})"
    elif grouping.keyed:
        grouped = f"columns.by_key(frame, {columns})"
    else:
        grouped = _as_one("frame", columns)
    lines = [*prepared, _returned(grouped, parts)]
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
    if grouping.keys:
        keys = ", ".join(f'"{key}"' for key in grouping.keys)
        made = f"columns.grouped(frame{ordered}, [{keys}], {columns})"
    else:
        made = _as_one(f"frame{ordered}", columns)
    return _columnar(grouping, "merged", [_returned(made, parts)])


def _as_one(frame: str, columns: str) -> str:
    """All as one group; `select` would give the values of lists as rows."""
    return f'{frame}.group_by({_ALL}).agg({columns}).drop("@all")'


def _returned(grouped: str, parts: Sequence[Partial]) -> str:
    """The line that returns the groups, with what follows once they are made; rows add floats that are not finite."""
    texts = [text for part in parts for text in part.then]
    made = f"{grouped}.with_columns({', '.join(texts)})" if texts else grouped
    floats = "".join(f', "{name}"' for part in parts for name in part.floats)
    return f"return columns.finite({made}{floats})" if floats else f"return {made}"


def _results(grouping: Grouping, parts: Sequence[Partial], fields: Sequence[str] | None) -> str:
    """The text of the function that makes the results of merged rows; empty where there is none."""
    if grouping.spread:
        return _spread_results(grouping, parts)
    value = struct_result(fields, parts) if fields is not None else parts[0].result
    if not value or not all(name in ("key", "value", "window") for name in grouping.given):
        return ""
    texts = {"key": '"key"', "value": f'({value}).alias("value")', "window": "*columns.CLOSED"}
    columns = [texts[name] for name in grouping.given]
    return _selected(grouping, columns, parts)


def _spread_results(grouping: Grouping, parts: Sequence[Partial]) -> str:
    if not all(each.result for each in parts):
        return ""
    columns = [f'({each.result}).alias("{name}")' for name, each in zip(grouping.given, parts, strict=False)]
    return _selected(grouping, [*columns, *(["*columns.CLOSED"] if grouping.windowed else [])], parts)


def _selected(grouping: Grouping, columns: list[str], parts: Sequence[Partial]) -> str:
    columns = [*columns, *(["*columns.CLOSED_TIMES"] if grouping.windowed and grouping.timed else [])]
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


def grouping(at: Place, op: GroupOp) -> Section:
    """The functions `<name>_first`, `_add`, `_merge`, `_result` and, where Polars can, `_partial` and `_states`, and
    then perhaps `_merged` and `_results`.
    """
    taken, name, module, zero = at.input(), at.name, at.module, ""
    match op:
        case ReduceByKey(reducer=Custom() as reducer):
            functions = _custom_functions(reducer, name, module)
        case ReduceByKey(reducer=reducer):
            functions = _state_functions(state_of_reducer(module, reducer), name, module)
        case AggregateByKey(aggregates=aggregates, scalar=scalar):
            zero, functions = _aggregate_functions(aggregates, name, module, scalar=scalar)
        case GroupByKey():
            functions = _list_functions(taken.pair[1], name, module)
        case Count():
            functions = _state_functions(State("1", "{0} + 1", "{0} + {1}"), name, module)
    made, missing = dict[str, str](), list[str]()
    try:
        made = _columnar_of(at, op)
    except Unsupported as reason:
        missing = [f"not pre-aggregated: {reason}"]
    timed = isinstance(op, AggregateByKey) and _by_time(op.aggregates)
    arrivals = _arrivals(op.aggregates) if isinstance(op, AggregateByKey) else ()
    panes = panes_of(at.unit).get(at.task.id)
    slices = None
    if panes is not None:
        begin = "" if panes.begin_us is None else f", {panes.begin_us:_}"
        slices = f"({panes.size_us:_}, {panes.every_us:_}{begin})"
    parts = {part: f"{name}_{part}" for part in (*_PARTS, *made)}
    parts |= {"nothing": zero} if zero and taken.shape is Shape.STREAM else {}
    code = entry(
        "GroupCode",
        **parts,
        timed="True" if timed else None,
        arrivals=tuple_text(arrivals) if arrivals else None,
        slices=slices,
    )
    return Section(at.task, [*functions, *made.values()], code, missing)


def _columnar_of(at: Place, op: GroupOp) -> dict[str, str]:
    taken = at.input()
    keyed = taken.shape is not Shape.STREAM
    groups = Grouping(at.name, taken.windowed, keyed, at.task.schema.names, at.task.collection.timed)
    match op:
        case ReduceByKey(reducer=reducer):
            return columnar_functions(groups, [reduced(reducer, 'pl.col("value")', Names({"s"}))])
        case AggregateByKey():
            groups = replace(groups, spread=not keyed and not op.scalar)
            return _aggregate_columns(groups, at.module, op, taken)
        case GroupByKey():
            values = gathered('pl.col("value")', taken.pair[1])
            return columnar_functions(groups, [Partial((("s", values),), "s")])
        case Count():
            number = ("s", "pl.len().cast(pl.Int64)")
            return columnar_functions(
                groups, [Partial((number,), "s", merged=('pl.col("s").sum()',), result='pl.col("s")')]
            )


_PARTS = {"first": ("value",), "add": ("state", "value"), "merge": ("left", "right"), "result": ("state",)}
"""The functions over single states, and what they take."""


def _define(name: str, part: str, module: Module, *lines: str, scope: RowScope | None = None) -> str:
    given = "".join(f"{argument}: Any, " for argument in _PARTS[part])
    return scope_function(scope or scope_of(module), f"{name}_{part}", given, "Any", *lines)


def _state_functions(state: State, name: str, module: Module) -> list[str]:
    texts = zip(_PARTS.items(), (state.first, state.add, state.merge, state.result), strict=True)
    return [_define(name, part, module, f"return {text.format(*taken)}") for (part, taken), text in texts]


def _custom_functions(reducer: Custom, name: str, module: Module) -> list[str]:
    """The functions over a user's reducer: it reduces two states where it is claimed that it may, else values in their
    order, once all are there.
    """
    scopes = {part: scope_of(module) for part in _PARTS}

    def applied(scope: RowScope, *names: str) -> str:
        for variable, text in zip(reducer.function.parameters, names, strict=True):
            scope.bind(variable, Binding(value=Code(text, simple=True)))
        return scope.value(reducer.function.body).inner

    def kept(scope: RowScope) -> str:
        if reducer.order is None:
            return "[(None, value)]"
        scope.bind(reducer.order.parameters[0], Binding(value=Code("value", simple=True)))
        body = reducer.order.body
        text, order = scope.value(body).inner, module.order(body.type)
        return f"[({text if order == 'order.plain' else f'{order}({text})'}, value)]"

    if reducer.claimed:
        add, merge = (applied(scopes[part], *_PARTS[part]) for part in ("add", "merge"))
        texts = {"first": "value", "add": add, "merge": merge, "result": "state"}
    else:
        step = f"lambda before, value: {applied(scopes['result'], 'before', 'value')}"
        fold = f"aggregates.fold({step}, state, {module.order(reducer.function.parameters[0].type)})"
        first, add = kept(scopes["first"]), f"state + {kept(scopes['add'])}"
        texts = {"first": first, "add": add, "merge": "left + right", "result": fold}
    return [_define(name, part, module, f"return {text}", scope=scopes[part]) for part, text in texts.items()]


def _aggregate_functions(
    aggregates: tuple[Aggregate, ...], name: str, module: Module, *, scalar: bool
) -> tuple[str, list[str]]:
    """The name of the state of no values; `_add`, `_first`, `_merge` and `_result`: the state has one item for each
    aggregate.
    """
    names = Names(RESERVED | ARGUMENTS | module.names.taken)
    locals_ = [names.new(aggregate.name) for aggregate in aggregates]
    states, scope = [state_of(module, each) for each in aggregates], scope_of(module)
    zero = module.constant(f"_{name}_zero", tuple_text([each.first for each in states]))
    lines = ["arrival, value = value"] if _arrivals(aggregates) else list[str]()
    lines += ["time, value = value"] if _by_time(aggregates) else []
    added: list[str] = []
    for aggregate, local, state in zip(aggregates, locals_, states, strict=True):
        argument = _local(scope, aggregate.argument, f"{local}_of", lines)
        known = "arrival" if aggregate.arrival else "time" if aggregate.by_time else ""
        order = known or _local(scope, aggregate.order, f"{local}_by", lines)
        added.append(state.add.format(local, argument, order, "value"))
    lines += [f"{targets_text(locals_)} = state", f"return {tuple_text(added)}"]
    merged = [each.merge.format(f"left[{index}]", f"right[{index}]") for index, each in enumerate(states)]
    results = [each.result.format(f"state[{index}]") for index, each in enumerate(states)]
    return zero, [
        _define(name, "add", module, *lines, scope=scope),
        _define(name, "first", module, f"return {name}_add({zero}, value, parameters)"),
        _define(name, "merge", module, f"return {tuple_text(merged)}"),
        _define(name, "result", module, f"return {results[0] if scalar else tuple_text(results)}"),
    ]


def _arrivals(aggregates: tuple[Aggregate, ...]) -> list[str]:
    """Where the aggregates stand that go by arrival."""
    return [str(index) for index, aggregate in enumerate(aggregates) if aggregate.arrival]


def _by_time(aggregates: tuple[Aggregate, ...]) -> bool:
    return any(aggregate.by_time for aggregate in aggregates)


def _whole_records(taken: Collection) -> list[str]:
    """The records of a stream, without their windows, as one column."""
    if not isinstance(taken.aggregated, Struct) or not taken.aggregated.fields:
        return []
    return [f'frame = frame.with_columns(pl.struct({list(taken.aggregated.names)}).alias("value"))']


def _aggregate_columns(grouping: Grouping, module: Module, op: AggregateByKey, taken: Collection) -> dict[str, str]:
    """The columnar functions; Unsupported where Polars cannot."""
    prepared, columns = argument_columns(op.aggregates)
    if grouping.spread or not grouping.keyed:
        prepared = [*_whole_records(taken), *prepared]
    arguments = (f"{letter}{index}" for letter in "ab" for index in range(len(op.aggregates)))
    names = Names({*RESERVED, "key", "start", "end", *arguments})
    parts = [partial_of(module, each, added, names) for each, added in zip(op.aggregates, columns, strict=True)]
    fields = None if op.scalar else [each.name for each in op.aggregates]
    return columnar_functions(grouping, parts, prepared, always=True, fields=fields)


def totals_functions(name: str, aggregates: tuple[Aggregate, ...], module: Module) -> tuple[str, list[str]]:
    """Aggregates of whole records without groups: the name of their first state, `<name>_add` and `<name>_result`."""
    zero, (add, _, _, result) = _aggregate_functions(aggregates, name, module, scalar=False)
    return zero, [add, result]


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


def _list_functions(value: Type, name: str, module: Module) -> list[str]:
    order = module.order(value)
    ordered = "sorted(state)" if order == "order.plain" else f"sorted(state, key={order})"
    return [
        _define(name, "first", module, "return [value]"),
        _define(name, "add", module, "state.append(value)", "return state"),
        _define(name, "merge", module, "left.extend(right)", "return left"),
        _define(name, "result", module, f"return {ordered}"),
    ]
