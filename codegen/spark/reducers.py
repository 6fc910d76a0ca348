"""Reducers as grouped columns, and what is made of these: of `reduce_by_key` and of aggregates of a user's own."""

from collections.abc import Callable
from typing import assert_never

from ghcm.codegen.spark.expressions import OF_VALUES, Emitter, value_binding
from ghcm.codegen.spark.functions.numbers import WIDE, narrow
from ghcm.codegen.spark.library.sql import part, quoted, when
from ghcm.codegen.spark.names import variable
from ghcm.codegen.spark.sql import Checked, col, ddl, first, make_struct
from ghcm.functions import comparable
from ghcm.reducers import Builtin, Custom, Fields, Kind, Reducer
from ghcm.types import Float, Type, strip


def reduced(emitter: Emitter, reducer: Reducer, value: str, name: str, columns: dict[str, str]) -> Checked:
    """The result of the values that are not null, as an expression over the grouped columns, which are added to
    `columns`; of no values what becomes of the parts is open.
    """
    match reducer:
        case Builtin(kind=kind, type=type_):
            columns[name] = _builtin(kind, type_, value)
            return narrow(quoted(name)) if _sums_whole(kind, type_) else col(name)
        case Fields(parts=parts, type=type_):
            fields = [
                reduced(emitter, each, part(value, field.name), f"{name}.{field.name}", columns)
                for each, field in zip(parts, type_.fields, strict=True)
            ]
            return make_struct(type_, fields)
        case Custom():
            return _custom(emitter, reducer, value, name, columns)
        case _:
            assert_never(reducer)


def _sums_whole(kind: Kind, type_: Type) -> bool:
    return kind is Kind.SUM and not isinstance(strip(type_), Float)


def _builtin(kind: Kind, type_: Type, value: str) -> str:
    match kind:
        case Kind.SUM:
            return wide_sum(value) if _sums_whole(kind, type_) else f"sum({value})"
        case Kind.MIN:
            return f"min({value})"
        case Kind.MAX:
            return f"max({value})"
        case Kind.ALL:
            return f"bool_and({value})"
        case Kind.ANY:
            return f"bool_or({value})"
        case _:
            assert_never(kind)


def _custom(emitter: Emitter, reducer: Custom, value: str, name: str, columns: dict[str, str]) -> Checked:
    """A user's reducer, folded over the values in order."""
    function, order, failed = reducer.function, reducer.order, None
    if order is None:
        columns[name] = some_values(value, function.parameters[0].type)
    else:
        by = emitter.body(order, value_binding(Checked(value)))
        columns[name], failed = all_values(value, by=by), quoted(f"{name}.error")
        columns[f"{name}.error"] = f"min({by.error or 'string(NULL)'})"

    def merge(a: Checked, b: Checked) -> Checked:
        merged = emitter.body(function, value_binding(a), value_binding(b))
        OF_VALUES.check(function.body, merged)
        return merged

    return folded(quoted(name), function.parameters[0].type, merge, failed=failed)


def wide_sum(value: str) -> str:
    """A sum without a bound, which is checked when it is emitted. The parts of the numbers are summed in 64 bits each,
    which takes half as long as a sum of decimals, and is exact for up to four trillion numbers.
    """
    number = f"bigint({value})"
    high, middle, low = f"shiftright({number}, 42)", f"shiftright({number}, 21) & 2097151L", f"{number} & 2097151L"
    return f"cast({_times(high, 2**42)} + {_times(middle, 2**21)} + sum({low}) AS {WIDE})"


def _times(part: str, weight: int) -> str:
    return f"cast(sum({part}) AS {WIDE}) * {weight}BD"


def all_values(value: str, *, by: Checked | None = None) -> str:
    """The values of a group as a list, ascending (by another value), nulls first."""
    order, each = "" if by is None else f"'by', {by}, ", variable()
    return f"transform(sort_array(collect_list(named_struct({order}'value', {value}))), {each} -> {each}.value)"


def some_values(value: str, type_: Type) -> str:
    """The values of a group that are not null as a list, ascending where they have an order."""
    values = f"collect_list({value})"
    return f"sort_array({values})" if comparable(type_) else values


def folded(values: str, type_: Type, merge: Callable[[Checked, Checked], Checked], *, failed: str | None) -> Checked:
    """The values of a list made one, from the left; the first failure ends it. Null of an empty list."""
    so_far, each = variable("so_far"), variable("each")
    merged = merge(Checked(f"{so_far}.value"), Checked(each))
    state = f"struct<value: {ddl(type_)}, error: string>"
    start = f"cast(named_struct('value', get({values}, 0), 'error', NULL) AS {state})"
    after = f"cast(named_struct('value', {merged}, 'error', {merged.error or 'NULL'}) AS {state})"
    step = when(f"{so_far}.error IS NULL", after, so_far)
    result = f"aggregate(slice({values}, 2, array_size({values})), {start}, ({so_far}, {each}) -> {step})"
    return Checked(f"({result}).value", first(failed, f"({result}).error"))
