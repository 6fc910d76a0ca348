"""Reducers as texts: of Python over single states, and of Polars over the columns of a batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from ghcm import types
from ghcm.codegen.expressions import plainly_ordered
from ghcm.codegen.native.columns.text import Unsupported, dtype_text
from ghcm.codegen.native.names import Names
from ghcm.codegen.native.rows.text import tuple_text
from ghcm.codegen.native.sections import Module
from ghcm.reducers import Builtin, Custom, Fields, Kind, Reducer
from ghcm.types import strip
from ghcm.unification import MAX_SUMMED_PRECISION


@dataclass(frozen=True, slots=True)
class State:
    """A state as Python texts: how it begins, how one more value is added, how two are merged, and what is emitted.

    `{0}` is the state, `{1}` the value or the other state; a reduction begins with its first value, `{0}`. Where
    aggregates pick a record, `{2}` is what orders it and `{3}` the record.
    """

    first: str
    add: str
    merge: str
    result: str = "{0}"


def state_of(module: Module, reducer: Reducer) -> State:
    """The state of a reducer, which is built in."""
    match reducer:
        case Builtin(kind=Kind.SUM, type=types.Float()):
            add, merge = (f"aggregates.{name}_float({{0}}, {{1}})" for name in ("add", "merge"))
            return State("aggregates.float_sum({0})", add, merge, "aggregates.total({0})")
        case Builtin(kind=Kind.SUM):
            return State("{0}", "{0} + {1}", "{0} + {1}", "aggregates.fit({0})")
        case Builtin(kind=Kind.MIN | Kind.MAX as kind, type=type_):
            text = _extreme_of(module, type_, least=kind is Kind.MIN)
            return State("{0}", text, text)
        case Builtin(kind=kind):
            text = f"{{0}} {'and' if kind is Kind.ALL else 'or'} {{1}}"
            return State("{0}", text, text)
        case Fields(parts=parts):
            states = [state_of(module, part) for part in parts]
            one, two = ([f"{{{side}}}[{index}]" for index in range(len(states))] for side in (0, 1))
            return State(
                tuple_text([each.first.format(value) for each, value in zip(states, one, strict=True)]),
                tuple_text([each.add.format(*pair) for each, *pair in zip(states, one, two, strict=True)]),
                tuple_text([each.merge.format(*pair) for each, *pair in zip(states, one, two, strict=True)]),
                tuple_text([each.result.format(state) for each, state in zip(states, one, strict=True)]),
            )
        case Custom():
            raise AssertionError("a reducer of a user works value by value")
        case _:
            assert_never(reducer)


@dataclass(frozen=True, slots=True)
class Partial:
    """How Polars pre-reduces: the aggregations as text by name of the state column, and the state of one group as
    text over those names.

    `floats` are the columns that hold float sums: where one is not finite, rows must add exactly. `merged` are the
    aggregations that make one of several such columns each, and `result` is the expression of a group's result; empty
    where Polars cannot. The result may be anything where one of the masks `unsure` is true. Where there is an `order`,
    the columns are merged as `in_order` instead, if the rows are sorted by that (nulls first): Polars sorts the rows of
    all groups in a fraction of the time in which it filters those of each. `then` are expressions that go over the
    columns of all groups after each of both: what Polars does group by group is dear where there are many.
    """

    columns: tuple[tuple[str, str], ...]
    state: str
    floats: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    result: str = ""
    unsure: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    in_order: tuple[str, ...] = ()
    then: tuple[str, ...] = ()


def reduced(reducer: Reducer, column: str, names: Names, prefix: str = "s") -> Partial:
    """How Polars does it for the column of that expression text; `Unsupported` where it cannot. `names` has the prefix
    already, and names the parts of a record.
    """
    kept = f'pl.col("{prefix}")'
    match reducer:
        case Builtin(kind=Kind.SUM, type=types.Float()):
            state, made = f"aggregates.float_sum({prefix})", ((prefix, f"{column}.sum()"),)
            return Partial(made, state, (prefix,), (f"{kept}.sum()",), f"{kept} + pl.lit(0.0)")
        case Builtin(kind=Kind.SUM, type=type_):
            made, merged = ((prefix, f"{wide(column, type_)}.sum()"),), (f"{kept}.sum()",)
            result = f"{kept}.cast(pl.Int64, strict=False).cast({dtype_text(type_)})"
            return Partial(made, prefix, merged=merged, result=result, unsure=(f"columns.beyond({kept})",))
        case Builtin(kind=Kind.MIN | Kind.MAX as kind, type=type_):
            return extreme_partial(prefix, column, type_, least=kind is Kind.MIN)
        case Builtin(kind=kind):
            word = "all" if kind is Kind.ALL else "any"
            return Partial(((prefix, f"{column}.{word}()"),), prefix, merged=(f"{kept}.{word}()",), result=kept)
        case Fields(parts=parts, type=type_):
            columns = [f'{column}.struct.field("{name}")' for name in type_.names]
            found = [
                reduced(part, text, names, names.new(f"{prefix}{at}"))
                for at, (part, text) in enumerate(zip(parts, columns, strict=True))
            ]
            return Partial(
                tuple(pair for each in found for pair in each.columns),
                tuple_text([each.state for each in found]),
                tuple(name for each in found for name in each.floats),
                all_merged(found),
                struct_result(type_.names, found),
                tuple(mask for each in found for mask in each.unsure),
            )
        case Custom():
            raise Unsupported("a reducer that is not built in works value by value")
        case _:
            assert_never(reducer)


def all_merged(parts: Sequence[Partial]) -> tuple[str, ...]:
    """How the columns of all parts are merged; empty where those of one are not."""
    return tuple(text for each in parts for text in each.merged) if all(each.merged for each in parts) else ()


def struct_result(names: Sequence[str], parts: Sequence[Partial]) -> str:
    """The struct of the parts' results; empty where one has none."""
    if not all(each.result for each in parts):
        return ""
    fields = [f'({each.result}).alias("{name}")' for name, each in zip(names, parts, strict=True)]
    return f"pl.struct({', '.join(fields)})"


def extreme_partial(prefix: str, column: str, type_: types.Type, *, least: bool) -> Partial:
    """The least or greatest of the column of that expression text."""
    kept = f'pl.col("{prefix}")'
    cast = (
        f".cast({dtype_text(type_)})" if isinstance(strip(type_), types.Timestamp | types.Duration | types.Date) else ""
    )
    return Partial(
        ((prefix, _extreme_series(column, type_, least=least)),),
        prefix,
        merged=(_extreme_series(kept, type_, least=least),),
        result=f"{kept}{cast}",
    )


def wide(column: str, type_: types.Type) -> str:
    """A column of whole numbers, or of decimals as smallest units, in 128 bits."""
    match strip(type_):
        case types.Decimal(precision=precision) if precision > MAX_SUMMED_PRECISION:
            raise Unsupported(f"the sum of {type_}: it may leave 128 bits")
        case types.Decimal():
            return f"columns.units({column})"
        case types.Timestamp() | types.Duration():
            return f"{column}.cast(pl.Int64).cast(pl.Int128)"
        case _:  # whole numbers
            return f"{column}.cast(pl.Int128)"


def _extreme_of(module: Module, type_: types.Type, *, least: bool) -> str:
    """The smaller or greater of two values that are there."""
    if isinstance(strip(type_), types.Float):
        return f"row_numbers.{'least' if least else 'greatest'}({{0}}, {{1}})"
    key = "" if plainly_ordered(type_) else f", key={module.order(type_)}"
    return f"{'min' if least else 'max'}({{0}}, {{1}}{key})"


def _extreme_series(column: str, type_: types.Type, *, least: bool) -> str:
    """The least or greatest of a group in Polars, as canonical values; nulls are left out, NaN is greatest."""
    word = "min" if least else "max"
    match strip(type_):
        case types.Float() if not least:
            return f"columns.greatest_float({column})"
        case types.Timestamp() | types.Duration():
            return f"{column}.cast(pl.Int64).{word}()"
        case types.Date():
            return f"{column}.cast(pl.Int32).{word}()"
        case types.Struct() | types.List() | types.Bytes() | types.Decimal():
            raise Unsupported(f"the {word} of {type_}: Polars has none in groups")
        case _:  # what Polars orders as the language does
            return f"{column}.{word}()"
