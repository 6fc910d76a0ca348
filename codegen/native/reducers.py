"""Reducers as Python over single states: what starts a state, adds a value, joins two states and gives the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import assert_never

from ghcm.codegen.expressions import plainly_ordered
from ghcm.codegen.native.columns.text import Unsupported, dtype_text
from ghcm.codegen.native.rows.expressions import RowScope
from ghcm.codegen.native.rows.text import Binding, Code, Module, order_text, tuple_text
from ghcm.reducers import Builtin, Custom, Fields, Kind, Reducer
from ghcm.types import Bytes, Date, Decimal, Duration, Float, Int, Int32, List, Struct, Timestamp, Type, strip
from ghcm.types.unification import MAX_SUMMED_PRECISION


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


@dataclass(frozen=True, slots=True)
class Reduction:
    """Python texts over the names `state`, `value`, `left`, `right`."""

    module: Module
    reducer: Reducer

    def first(self, value: str) -> str:
        """The state of one value."""
        match self.reducer:
            case Builtin(kind=Kind.SUM, type=Float()):
                return f"aggregates.float_sum({value})"
            case Builtin():
                return value
            case Fields(parts=parts):
                return self._each(parts, lambda part, index: part.first(f"{value}[{index}]"))
            case Custom(claimed=True):
                return value
            case Custom(order=None):
                return f"[(None, {value})]"
            case Custom():
                return f"[({self._order_of(value)}, {value})]"
            case _:
                assert_never(self.reducer)

    def add(self, state: str, value: str, scope: RowScope) -> str:
        """The state with one more value."""
        match self.reducer:
            case Builtin(kind=Kind.SUM, type=Float()):
                return f"aggregates.add_float({state}, {value})"
            case Builtin():
                return self.merge(state, value, scope)
            case Fields(parts=parts):
                return self._each(parts, lambda part, index: part.add(f"{state}[{index}]", f"{value}[{index}]", scope))
            case Custom(claimed=True):
                return self.merge(state, value, scope)
            case Custom():
                return f"{state} + {self.first(value)}"
            case _:
                assert_never(self.reducer)

    def merge(self, left: str, right: str, scope: RowScope) -> str:
        """One state of two."""
        match self.reducer:
            case Builtin(kind=Kind.SUM, type=Float()):
                return f"aggregates.merge_float({left}, {right})"
            case Builtin(kind=kind, type=type_):
                return self._builtin(kind, type_, left, right)
            case Fields(parts=parts):
                return self._each(parts, lambda part, index: part.merge(f"{left}[{index}]", f"{right}[{index}]", scope))
            case Custom(function=function, claimed=True):
                one, two = function.parameters
                scope.bind(one, Binding(value=Code(left, simple=True)))
                scope.bind(two, Binding(value=Code(right, simple=True)))
                return scope.value(function.body).inner
            case Custom():
                return f"{left} + {right}"
            case _:
                assert_never(self.reducer)

    def result(self, state: str, scope: RowScope) -> str:
        """The value that is emitted."""
        match self.reducer:
            case Builtin(kind=Kind.SUM, type=Float()):
                return f"aggregates.total({state})"
            case Builtin(kind=Kind.SUM):
                return f"aggregates.fit({state})"
            case Builtin():
                return state
            case Fields(parts=parts):
                return self._each(parts, lambda part, index: part.result(f"{state}[{index}]", scope))
            case Custom(claimed=True):
                return state
            case Custom(function=function):
                one, two = function.parameters
                scope.bind(one, Binding(value=Code("before", simple=True)))
                scope.bind(two, Binding(value=Code("value", simple=True)))
                step = scope.value(function.body).inner
                return f"aggregates.fold(lambda before, value: {step}, {state}, {self._tie(one.type)})"
            case _:
                assert_never(self.reducer)

    def partial(self, column: str, prefix: str = "s") -> Partial:
        """How Polars does it for the column of that expression text; `Unsupported` where it cannot."""
        kept = f'pl.col("{prefix}")'
        match self.reducer:
            case Builtin(kind=Kind.SUM, type=Float()):
                state = f"aggregates.float_sum({prefix})"
                return Partial(
                    ((prefix, f"{column}.sum()"),), state, (prefix,), (f"{kept}.sum()",), f"{kept} + pl.lit(0.0)"
                )
            case Builtin(kind=Kind.SUM, type=type_):
                result = f"{kept}.cast(pl.Int64, strict=False).cast({dtype_text(type_)})"
                return Partial(
                    ((prefix, f"{wide(column, type_)}.sum()"),),
                    prefix,
                    merged=(f"{kept}.sum()",),
                    result=result if isinstance(type_, Int | Duration) else "",
                    unsure=(f"columns.beyond({kept})",),
                )
            case Builtin(kind=Kind.MIN | Kind.MAX as kind, type=type_):
                return extreme_partial(prefix, column, type_, least=kind is Kind.MIN)
            case Builtin(kind=Kind.ALL):
                return Partial(((prefix, f"{column}.all()"),), prefix, merged=(f"{kept}.all()",), result=kept)
            case Builtin():
                return Partial(((prefix, f"{column}.any()"),), prefix, merged=(f"{kept}.any()",), result=kept)
            case Fields():
                return self._of_fields(self.reducer, column, prefix)
            case Custom():
                raise Unsupported("a reducer that is not built in works value by value")
            case _:
                assert_never(self.reducer)

    def _of_fields(self, reducer: Fields, column: str, prefix: str) -> Partial:
        found = [
            Reduction(self.module, part).partial(f'{column}.struct.field("{field.name}")', f"{prefix}{index}")
            for index, (part, field) in enumerate(zip(reducer.parts, reducer.type.fields, strict=True))
        ]
        floats = tuple(name for each in found for name in each.floats)
        columns = tuple(pair for each in found for pair in each.columns)
        return Partial(
            columns,
            tuple_text([each.state for each in found]),
            floats,
            all_merged(found),
            struct_result(reducer.type.names, found),
            tuple(mask for each in found for mask in each.unsure),
        )

    def _each(self, parts: tuple[Reducer, ...], make: Callable[[Reduction, int], str]) -> str:
        return tuple_text([make(Reduction(self.module, part), index) for index, part in enumerate(parts)])

    def _builtin(self, kind: Kind, type_: Type, left: str, right: str) -> str:
        match kind:
            case Kind.SUM:
                return f"{left} + {right}"
            case Kind.MIN | Kind.MAX:
                return extreme_of(self.module, type_, left, right, least=kind is Kind.MIN)
            case Kind.ALL:
                return f"{left} and {right}"
            case Kind.ANY:
                return f"{left} or {right}"
            case _:
                assert_never(kind)

    def _order_of(self, value: str) -> str:
        assert isinstance(self.reducer, Custom) and self.reducer.order is not None
        order = self.reducer.order
        scope = self._scope
        scope.bind(order.parameters[0], Binding(value=Code(value, simple=True)))
        code = scope.value(order.body)
        key = order_text(order.body.type)
        return code.inner if key == "order.plain" else f"{self.module.order(order.body.type)}({code.inner})"

    def _tie(self, type_: Type) -> str:
        return self.module.order(type_)

    @property
    def _scope(self) -> RowScope:
        from ghcm.codegen.native.names import Names

        return RowScope(self.module, Names(self.module.names.taken))


def all_merged(parts: Sequence[Partial]) -> tuple[str, ...]:
    """How the columns of all parts are merged; empty where those of one are not."""
    return tuple(text for each in parts for text in each.merged) if all(each.merged for each in parts) else ()


def struct_result(names: Sequence[str], parts: Sequence[Partial]) -> str:
    """The struct of the parts' results; empty where one has none."""
    if not all(each.result for each in parts):
        return ""
    fields = [f'({each.result}).alias("{name}")' for name, each in zip(names, parts, strict=True)]
    return f"pl.struct({', '.join(fields)})"


def extreme_partial(prefix: str, column: str, type_: Type, *, least: bool) -> Partial:
    """The least or greatest of the column of that expression text."""
    kept = f'pl.col("{prefix}")'
    cast = f".cast({dtype_text(type_)})" if isinstance(strip(type_), Timestamp | Duration | Date) else ""
    return Partial(
        ((prefix, extreme_series(column, type_, least=least)),),
        prefix,
        merged=(extreme_series(kept, type_, least=least),),
        result=f"{kept}{cast}",
    )


def wide(column: str, type_: Type) -> str:
    """A column of whole numbers, or of decimals as smallest units, in 128 bits."""
    match strip(type_):
        case Decimal(precision=precision) if precision > MAX_SUMMED_PRECISION:
            raise Unsupported(f"the sum of {type_}: it may leave 128 bits")
        case Decimal():
            return f"columns.units({column})"
        case _:  # whole numbers
            pass
    micros = isinstance(strip(type_), Timestamp | Duration)
    return f"{column}.cast(pl.Int64).cast(pl.Int128)" if micros else f"{column}.cast(pl.Int128)"


def extreme_of(module: Module, type_: Type, left: str, right: str, *, least: bool) -> str:
    """The smaller or greater of two values that are there."""
    word = "min" if least else "max"
    if isinstance(strip(type_), Float):
        return f"row_numbers.{'least' if least else 'greatest'}({left}, {right})"
    key = "" if plainly_ordered(type_) else f", key={module.order(type_)}"
    return f"{word}({left}, {right}{key})"


def extreme_series(column: str, type_: Type, *, least: bool) -> str:
    """The least or greatest of a group in Polars, as canonical values; nulls are left out, NaN is greatest."""
    word = "min" if least else "max"
    match strip(type_):
        case Float() if not least:
            return f"columns.greatest_float({column})"
        case Timestamp() | Duration():
            return f"{column}.cast(pl.Int64).{word}()"
        case Date():
            return f"{column}.cast(pl.Int32).{word}()"
        case Struct() | List() | Bytes() | Decimal():
            raise Unsupported(f"the {word} of {type_}: Polars has none in groups")
        case Int() | Int32() | _:
            return f"{column}.{word}()"
