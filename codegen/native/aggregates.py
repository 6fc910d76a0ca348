"""Aggregates of `aggregate_by_key` and of publish arguments, each of which skips nulls: as Python over single states,
and in columns. There a state is numbers, a list of the values that are kept, or the record that comes first or last.
"""

from collections.abc import Mapping
from typing import NamedTuple, assert_never

from ghcm import types
from ghcm.aggregates import rank_fraction
from ghcm.codegen.expressions import plainly_ordered
from ghcm.codegen.native.columns.text import Unsupported, dtype_text
from ghcm.codegen.native.folds import fold_text, merged_partial
from ghcm.codegen.native.names import Names
from ghcm.codegen.native.reducers import Partial, State, extreme_partial, wide
from ghcm.codegen.native.sections import Module, order_text
from ghcm.codegen.native.snippets import quoted
from ghcm.reducers import Aggregate, AggregateFunction
from ghcm.types import is_nullable, strip

_F = AggregateFunction
ARRIVAL = 'pl.col("@arrival")'
"""The column of the numbers by which records are told apart as they come."""


class Added(NamedTuple):
    """The texts of what a record adds: the argument's value; for `first` and `last` also the order value, and the
    record itself unless they go by arrival.
    """

    value: str
    order: str
    record: str


def argument_type(aggregate: Aggregate) -> types.Type | None:
    """The type of what is aggregated; None for `count()`."""
    return None if aggregate.argument is None else aggregate.argument.body.type


def _of_floats(aggregate: Aggregate) -> bool:
    type_ = argument_type(aggregate)
    return type_ is not None and isinstance(strip(type_), types.Float)


def state_of(module: Module, aggregate: Aggregate) -> State:
    """The state of an aggregate, from that of nothing; what is added may be null."""
    floats, to = _of_floats(aggregate), strip(aggregate.type)
    add, merge = ("aggregates.add_float", "aggregates.merge_float") if floats else ("aggregates.add_int",) * 2
    match aggregate.function:
        case _F.COUNT:
            type_ = argument_type(aggregate)
            sure = type_ is None or not is_nullable(type_)
            return State("0", "{0} + 1" if sure else "{0} + ({1} is not None)", "{0} + {1}")
        case _F.SUM if isinstance(to, types.Decimal):
            add, result = f"add_units({{0}}, {{1}}, {to.scale})", f"fit_decimal({{0}}, {to.precision}, {to.scale})"
            return State("None", f"aggregates.{add}", f"{merge}({{0}}, {{1}})", f"aggregates.{result}")
        case _F.SUM:
            result = f"aggregates.{'total' if floats else 'fit'}({{0}})"
            return State("None", f"{add}({{0}}, {{1}})", f"{merge}({{0}}, {{1}})", result)
        case _F.MIN | _F.MAX:
            text = _extreme(module, aggregate)
            return State("None", text, text)
        case _F.MEAN:
            if isinstance(to, types.Decimal):
                of = argument_type(aggregate)
                assert of is not None and isinstance(strip(of), types.Decimal)
                return _decimal_mean(strip(of), to)
            mean = "mean_of_floats" if floats else "mean_of_ints" if isinstance(to, types.Float) else "whole_mean"
            add, merge = (
                f"aggregates.{text}_mean({{0}}, {{1}}, {each})" for text, each in (("add", add), ("merge", merge))
            )
            return State("(0, None)", add, merge, f"aggregates.{mean}({{0}})")
        case _:
            summary = _summary(module, aggregate)
            added = "{0}, {2}, {1}" if aggregate.arrival else "{0}, {2}, {3}, {1}"
            added = added if aggregate.picks_record else "{0}, {1}"
            given = ", parameters" if aggregate.function is _F.FOLD else ""
            merged = "" if aggregate.picks_record else given
            return State(
                "None",
                f"{summary}.add({added}{merged})",
                f"{summary}.merge({{0}}, {{1}}{merged})",
                f"{summary}.result({{0}}{given})",
            )


def _decimal_mean(of: types.Type, to: types.Decimal) -> State:
    """Count and smallest units of the sum."""
    assert isinstance(of, types.Decimal)
    add = f"aggregates.add_mean({{0}}, {{1}}, lambda total, value: aggregates.add_units(total, value, {of.scale}))"
    merge = "aggregates.merge_mean({0}, {1}, aggregates.add_int)"
    return State("(0, None)", add, merge, f"aggregates.decimal_mean({{0}}, {of.scale}, {to.scale})")


def partial_of(module: Module, aggregate: Aggregate, added: Added, names: Names) -> Partial:
    """How Polars pre-aggregates columns of those expression texts; `names` gives the state columns their names."""
    type_, column = argument_type(aggregate), added.value
    prefix = names.new(aggregate.name)
    number = "pl.len().cast(pl.Int64)" if type_ is None else f"{column}.count().cast(pl.Int64)"
    if type_ is None or aggregate.function is _F.COUNT:
        kept = f'pl.col("{prefix}")'
        return Partial(((prefix, number),), prefix, merged=(f"{kept}.sum()",), result=kept)
    if aggregate.function in (_F.MIN, _F.MAX):
        return extreme_partial(prefix, column, type_, least=aggregate.function is _F.MIN)
    if aggregate.function not in (_F.SUM, _F.MEAN):
        summary = _summary(module, aggregate)
        if aggregate.arrival:
            return arrived(aggregate, names, prefix, summary, column)
        if aggregate.function in (_F.COVAR, _F.CORR):
            return paired(type_, names, prefix, summary, column)
        if aggregate.reducer is not None:
            return merged_partial(aggregate, names, prefix, column)
        if aggregate.picks_record:
            return chosen(aggregate, names, prefix, summary, column, added.order, added.record)
        return listed(aggregate, type_, column, prefix, summary)
    total = f"{column if _of_floats(aggregate) else wide(column, type_)}.sum()"
    found = f"aggregates.float_sum({prefix})" if _of_floats(aggregate) else prefix
    floats = (prefix,) if _of_floats(aggregate) else ()
    if aggregate.function is _F.SUM and not is_nullable(type_):  # a group has a record, so there is a sum
        kept = f'pl.col("{prefix}")'
        return Partial(((prefix, total),), found, floats, (f"{kept}.sum()",), *_summed(aggregate, "", prefix))
    count = names.new(f"{prefix}_count")
    sum_ = f"{found} if {count} else None"
    state = sum_ if aggregate.function is _F.SUM else f"({count}, {sum_})"
    merged = (f'pl.col("{count}").sum()', f'pl.col("{prefix}").sum()')
    columns = ((count, number), (prefix, total))
    return Partial(columns, state, floats, merged, *_summed(aggregate, count, prefix))


def _summed(aggregate: Aggregate, count: str, total: str) -> tuple[str, tuple[str, ...]]:
    """The result of a sum or mean of those columns (no count: there is a sum) as an expression, and where it is
    unsure.
    """
    floats, type_ = _of_floats(aggregate), strip(aggregate.type)
    if aggregate.function is _F.MEAN:
        if not isinstance(type_, types.Float):
            return "", ()
        return f'columns.mean("{count}", "{total}")', () if floats else (f'columns.inexact("{total}")',)
    unsure: tuple[str, ...] = ()
    match type_:
        case types.Float():
            text = f'pl.col("{total}") + 0.0'
        case types.Decimal(precision=precision, scale=scale):
            text = f'columns.decimal(pl.col("{total}"), {precision}, {scale})'
        case types.Int() | types.Duration():
            text = f'columns.whole_total("{total}").cast({dtype_text(type_)})'
            unsure = (f'columns.beyond(pl.col("{total}"))',)
        case _:  # no other type is summed
            return "", ()
    return f'columns.if_any("{count}", {text})' if count else text, unsure


def _extreme(module: Module, aggregate: Aggregate) -> str:
    type_ = argument_type(aggregate)
    assert type_ is not None
    word = "least" if aggregate.function is _F.MIN else "greatest"
    order = "" if plainly_ordered(strip(type_)) else f", {module.order(strip(type_))}"
    return f"aggregates.{word}({{0}}, {{1}}{order})"


def _summary(module: Module, aggregate: Aggregate) -> str:
    """The name of the constant that keeps, merges and ends the states of an aggregate."""
    type_ = argument_type(aggregate)
    assert type_ is not None and aggregate.argument is not None
    plain = strip(type_)
    match aggregate.function:
        case _F.VAR:
            text = "summaries.Spread()"
        case _F.STD:
            text = "summaries.Spread(root=True)"
        case _F.FIRST | _F.LAST if aggregate.arrival:
            text = f"summaries.Arrived({aggregate.function is _F.LAST}, {aggregate.limit})"
        case _F.FIRST | _F.LAST:
            by = "order.plain" if aggregate.order is None else order_text(aggregate.order.body.type)
            tie = order_text(aggregate.argument.parameters[0].type)
            last = aggregate.function is _F.LAST
            text = f"summaries.Chosen({last}, {by}, {tie})"
            if aggregate.limit is not None:
                text = f"summaries.ChosenSome({last}, {by}, {tie}, {aggregate.limit})"
        case _F.COLLECT:
            text = f"summaries.Collected({order_text(plain)})"
        case _F.DISTINCT_COUNT:
            text = f"summaries.Different({order_text(plain)})"
        case _F.APPROX_DISTINCT:
            text = f"hyperloglog.Approximate({_hashed_text(plain)})"
        case _F.QUANTILE:
            assert aggregate.fraction is not None
            rank = rank_fraction(aggregate.fraction)
            rank_text = f"summaries.at_rank({rank.numerator}, {rank.denominator})"
            text = f"summaries.Collected({order_text(plain)}, {rank_text})"
        case _F.MEDIAN:
            median = "median_of_decimals" if isinstance(plain, types.Decimal) else "median"
            text = f"summaries.Collected({order_text(plain)}, summaries.{median})"
        case _F.MODE:
            text = f"summaries.Collected({order_text(plain)}, summaries.commonest({order_text(plain)}))"
        case _F.COVAR | _F.CORR:
            text = f"summaries.Together(scaled={aggregate.function is _F.CORR})"
        case _F.TOP_K:
            text = f"summaries.Greatest({aggregate.limit}, {order_text(plain)})"
        case _F.FOLD:
            text = fold_text(module, aggregate)
        case _F.COUNT | _F.SUM | _F.MIN | _F.MAX | _F.MEAN:
            raise AssertionError(f"{aggregate.function.value} has no summary")
        case _:
            assert_never(aggregate.function)
    return module.constant(f"_{aggregate.function.value}", text)


def _hashed_text(type_: types.Type) -> str:
    match type_:
        case types.String() | types.Enumeration():
            return "str"
        case types.Bytes():
            return "bytes.hex"
        case _:  # `hyperloglog.lower` takes any other value
            return "hyperloglog.lower"


_KEPT = ".explode(empty_as_null=False, keep_nulls=False)"


def gathered(column: str, type_: types.Type) -> str:
    """The column of that expression text such that its values are canonical in a list."""
    match strip(type_):
        case types.Struct() | types.List() | types.Map() | types.Decimal() | types.Null():
            raise Unsupported(f"lists of {type_} are not canonical in Polars")
        case types.Timestamp() | types.Duration():
            return f"{column}.cast(pl.Int64)"
        case types.Date():
            return f"{column}.cast(pl.Int32)"
        case _:  # Polars gives canonical values of the rest
            return column


def listed(aggregate: Aggregate, type_: types.Type, column: str, prefix: str, summary: str) -> Partial:
    """Polars gathers the values of a group, of which the state is made."""
    values, kept = gathered(column, type_), f'pl.col("{prefix}")'
    if is_nullable(type_):
        values = f"{values}.drop_nulls()"
    state = f"{summary}.of({prefix})"
    plain = strip(type_)
    match aggregate.function:
        case _F.DISTINCT_COUNT if isinstance(plain, _EXACT):
            merged, result = f"{kept}{_KEPT}.unique()", f"{kept}.list.len().cast(pl.Int64)"
            return Partial(((prefix, f"{values}.unique()"),), state, merged=(merged,), result=result)
        case _F.TOP_K if isinstance(plain, types.Int | types.Timestamp | types.Duration):
            assert aggregate.limit is not None
            result = f"{kept}.list.sort(descending=True).cast(pl.List({dtype_text(plain)}))"
            best = (f'columns.best("{prefix}", {aggregate.limit})',)
            return Partial(((prefix, values),), state, merged=(f"{kept}{_KEPT}",), result=result, then=best)
        case _F.APPROX_DISTINCT if isinstance(plain, _EXACT):
            entries = f"map_batches({summary}.places, return_dtype=pl.UInt32, is_elementwise=True)"
            partial = f"{gathered(column, type_)}.{entries}{'.drop_nulls()' if is_nullable(type_) else ''}"
            return Partial(((prefix, partial),), f"{summary}.of_places({prefix})", merged=(f"{kept}{_KEPT}.unique()",))
        case _:
            return Partial(((prefix, values),), state)


def paired(type_: types.Type, names: Names, prefix: str, summary: str, column: str) -> Partial:
    """Polars gathers both numbers of the pairs that are there."""
    second = names.new(f"{prefix}_other")
    there = f".filter({column}.is_not_null())" if is_nullable(type_) else ""
    one, two = (f'{column}.struct.field("{field}"){there}' for field in ("_1", "_2"))
    return Partial(((prefix, one), (second, two)), f"{summary}.of({prefix}, {second})")


def chosen(aggregate: Aggregate, names: Names, prefix: str, summary: str, value: str, by: str, record: str) -> Partial:
    """The record that comes first or last, as a struct of order value, record and value; lists of all where Polars
    orders records otherwise than the language.
    """
    assert aggregate.argument is not None
    type_, taken = aggregate.argument.body.type, aggregate.argument.parameters[0].type
    by_type = types.Timestamp() if aggregate.order is None else aggregate.order.body.type
    last = aggregate.function is _F.LAST
    several = aggregate.limit is not None or aggregate.function is _F.FOLD
    if several or not all(map(_flat, (by_type, taken, type_))):
        order_of, record_of = names.new(f"{prefix}_place"), names.new(f"{prefix}_record")
        columns = (
            (order_of, gathered(by, by_type)),
            (record_of, gathered(record, taken)),
            (prefix, gathered(value, type_)),
        )
        return Partial(columns, f"{summary}.of({order_of}, {record_of}, {prefix})")
    there = f"{value}.is_not_null()" if is_nullable(type_) else "None"
    places = {"place": _canonical(by, by_type), "record": _canonical(record, taken), "value": _canonical(value, type_)}
    kept = f'pl.col("{prefix}")'
    parts = [*_fields(f'{kept}.struct.field("place")', by_type), *_fields(f'{kept}.struct.field("record")', taken)]
    order = [*_fields(by, by_type), *_fields(record, taken)]
    first = f"columns.chosen({_struct(places)}, [{', '.join(order)}], {there}, last={last})"
    result = f'{kept}.struct.field("value").cast({dtype_text(type_)})'
    made, state = ((prefix, first),), f"columns.canonical({prefix})"
    if not is_nullable(type_):
        of_all = f"columns.chosen({kept}, [{', '.join(parts)}], None, last={last})"
        return Partial(made, state, merged=(of_all,), result=result)
    merged = f"columns.chosen({kept}, [{', '.join(parts)}], {kept}.is_not_null(), last={last})"
    nulls = f"{kept}.is_{'not_' if last else ''}null()"
    in_order = (f"{kept}.{'last' if last else 'first'}()",)
    return Partial(made, state, (), (merged,), result, order=(nulls, *parts), in_order=in_order)


def arrived(aggregate: Aggregate, names: Names, prefix: str, summary: str, value: str) -> Partial:
    """The numbers and values of the records that came first or last. They never stay columns, so that a restored state
    tells how far the numbers went.
    """
    type_ = argument_type(aggregate)
    assert type_ is not None
    there = f".filter({value}.is_not_null())" if is_nullable(type_) else ""
    cut = f"{there}.{'tail' if aggregate.function is _F.LAST else 'head'}({aggregate.limit or 1})"
    number = names.new(f"{prefix}_number")
    columns = ((number, f"{ARRIVAL}{cut}"), (prefix, f"{gathered(value, type_)}{cut}"))
    return Partial(columns, f"{summary}.of({number}, {prefix})")


_EXACT = (types.Bool, types.Int, types.Int32, types.String, types.Bytes, types.Timestamp, types.Date, types.Duration)
"""Values that Polars tells apart and orders as the language does."""


def _flat(type_: types.Type) -> bool:
    """Whether it is an exact value, or a struct of such that is there."""
    if isinstance(type_, types.Struct):
        return bool(type_.fields) and all(isinstance(strip(field.type), _EXACT) for field in type_.fields)
    return isinstance(strip(type_), _EXACT)


def _fields(column: str, type_: types.Type) -> list[str]:
    if not isinstance(type_, types.Struct):
        return [column]
    return [f'{column}.struct.field("{field.name}")' for field in type_.fields]


def _canonical(column: str, type_: types.Type) -> str:
    """The column such that its values are canonical, but for structs, which are dicts."""
    if not isinstance(type_, types.Struct):
        return gathered(column, type_)
    texts = zip(_fields(column, type_), type_.fields, strict=True)
    return _struct({field.name: gathered(text, field.type) for text, field in texts})


def _struct(parts: Mapping[str, str]) -> str:
    return f"pl.struct({', '.join(f'{text}.alias({quoted(name)})' for name, text in parts.items())})"
