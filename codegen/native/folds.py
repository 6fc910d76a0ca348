"""`fold`, an aggregate of a user's own: as Python over single states, and in columns where its merge is built in."""

from ghcm.codegen.native.columns.text import Unsupported
from ghcm.codegen.native.names import Names
from ghcm.codegen.native.reducers import Partial, reduced, state_of
from ghcm.codegen.native.rows.lines import scope_of
from ghcm.codegen.native.rows.text import Binding, Code
from ghcm.codegen.native.sections import Module, order_text
from ghcm.expr import Lambda, Param, walk
from ghcm.reducers import Aggregate, Custom, Reducer
from ghcm.types import is_nullable


def fold_text(module: Module, aggregate: Aggregate) -> str:
    """The text of the constant that keeps, merges and ends the states."""
    finish = "lambda state, parameters: state"
    if aggregate.finish is not None:
        finish = f"lambda state, parameters: {_applied(module, aggregate.finish, 'state')}"
    if aggregate.reducer is None:
        assert aggregate.argument is not None
        by = "order.plain" if aggregate.order is None else order_text(aggregate.order.body.type)
        return f"folds.InOrder({by}, {order_text(aggregate.argument.parameters[0].type)}, {finish})"
    begin, step, join, value = _reducing(module, aggregate.reducer)
    texts = (
        f"lambda value: {begin}",
        f"lambda state, value, parameters: {step}",
        f"lambda left, right, parameters: {join}",
        f"lambda state: {value}",
        finish,
    )
    return f"folds.Merged({', '.join(texts)})"


def _reducing(module: Module, reducer: Reducer) -> tuple[str, str, str, str]:
    """What a first `value` becomes, what another makes of a `state`, what `left` and `right` make, what it gives."""
    if isinstance(reducer, Custom):
        step = _applied(module, reducer.function, "state", "value")
        return "value", step, _applied(module, reducer.function, "left", "right"), "state"
    made = state_of(module, reducer)
    return (
        made.first.format("value"),
        made.add.format("state", "value"),
        made.merge.format("left", "right"),
        made.result.format("state"),
    )


def _applied(module: Module, function: Lambda, *names: str) -> str:
    """The body of a function of these, in a lambda that is handed the unit's `parameters`."""
    scope = scope_of(module)
    for part in walk(function.body):
        if isinstance(part, Param):
            scope.parameters[part.name] = f'parameters["{part.name}"]'
    for variable, text in zip(function.parameters, names, strict=True):
        scope.bind(variable, Binding(value=Code(text, simple=True)))
    return scope.value(function.body).inner


def merged_partial(aggregate: Aggregate, names: Names, prefix: str, column: str) -> Partial:
    """How Polars pre-aggregates it; the number of values tells whether there are any."""
    reducer, argument = aggregate.reducer, aggregate.argument
    assert reducer is not None and argument is not None
    if isinstance(reducer, Custom):
        raise Unsupported("a merge that is not built in works value by value")
    found = reduced(reducer, column, names, prefix)
    if not is_nullable(argument.body.type):
        return Partial(found.columns, f"({found.state}, None)", found.floats, found.merged)
    count = names.new(f"{prefix}_count")
    counted = (count, f"{column}.count().cast(pl.Int64)")
    merged = (f'pl.col("{count}").sum()', *found.merged) if found.merged else ()
    state = f"({found.state}, None) if {count} else None"
    return Partial((counted, *found.columns), state, found.floats, merged)
