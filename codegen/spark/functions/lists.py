"""Lists as SQL."""

from __future__ import annotations

from collections.abc import Callable

from ghcm.codegen.expressions import constant
from ghcm.codegen.spark.functions.emitting import Emit, Writer, by_kind, kind, plain
from ghcm.codegen.spark.functions.maps import held
from ghcm.codegen.spark.library.sql import fails, when
from ghcm.codegen.spark.sql import Checked, all_of, ddl, given, let, partial, pure, variable
from ghcm.expr import Call
from ghcm.types import Decimal, Float, List, Map, strip


def item(a: Checked, index: Checked) -> Checked:
    """The item of a list at an index (from 0), which counts from the end where it is negative."""
    length = f"array_size({a})"
    if isinstance(index.constant, int) and 0 <= index.constant < 2**31:
        outside = fails(f"{length} <= {index.constant}", "out_of_range", "no item at this index")
        return partial(f"get({a}, {index.constant})", (a, index), outside)
    inside = f"({index} >= -{length} AND {index} < {length})"
    at = when(f"{index} < 0", f"{index} + {length}", index.value)
    outside = fails(all_of(*given(a), f"NOT {inside}"), "out_of_range", "no item at this index")
    return partial(when(inside, f"get({a}, int({at}))"), (a, index), outside)


def join_lists(a: Checked, b: Checked) -> Checked:
    """The items of one list and then those of another."""
    return pure(f"concat({a}, {b})", a, b)


def known_items(value: str) -> str:
    """The items of a list that are not null."""
    each = variable()
    return f"filter({value}, {each} -> {each} IS NOT NULL)"


def added(value: str, zero: str, type_: str) -> str:
    """The sum of the items of a list that are not null; null of none."""
    total, each = variable("total"), variable("each")
    step = f"({total}, {each}) -> cast({total} + cast({each} AS {type_}) AS {type_})"
    return f"aggregate({known_items(value)}, cast({zero} AS {type_}), {step})"


def if_any(value: str, then: str) -> str:
    """Something where a list has an item that is not null."""
    return when(f"array_size({known_items(value)}) > 0", then)


def sum_of_whole(a: Checked) -> Checked:
    """The sum of whole numbers, which add up without a bound; it fails where it leaves 64 bits."""
    total = if_any(a.value, added(a.value, "0", "decimal(38, 0)"))
    fits = f"{total} BETWEEN {-(2**63)}BD AND {2**63 - 1}BD"
    outside = fails(f"NOT ({fits})", "overflow", "the sum does not fit into 64 bits")
    return partial(when(fits, f"bigint({total})"), (a,), outside)


def sum_of_floats(a: Checked) -> Checked:
    """The sum of floats."""
    return pure(if_any(a.value, added(a.value, "0", "double")), a)


def sum_of_decimals(a: Checked, type_: Decimal) -> Checked:
    """The sum of decimals; the type has digits enough."""
    return pure(if_any(a.value, added(a.value, "0", ddl(type_))), a)


def mean_of_floats(a: Checked) -> Checked:
    """The mean of floats."""
    return pure(if_any(a.value, f"{added(a.value, '0', 'double')} / array_size({known_items(a.value)})"), a)


def mean_of_numbers(a: Checked) -> Checked:
    """The mean of whole numbers, which add up without a bound."""
    total = f"double({added(a.value, '0', 'decimal(38, 0)')})"
    return pure(if_any(a.value, f"{total} / array_size({known_items(a.value)})"), a)


def sorted_items(a: Checked, descending: bool) -> Checked:
    """The items in order; nulls first, last in descending order."""
    return pure(f"sort_array({a}, {'false' if descending else 'true'})", a)


def sorted_by_key(a: Checked, descending: bool) -> Checked:
    """The values of entries in the order of their keys, equal ones as they stood."""

    def made(given: Checked) -> Checked:
        each, index, one = variable("each"), variable("index"), variable("sorted")
        stands = f"-{index}" if descending else index
        keys = f"transform({given}, ({each}, {index}) -> named_struct('key', {each}.key, 'place', {stands}))"
        ordered = f"sort_array({keys}, {'false' if descending else 'true'})"
        return Checked(f"transform({ordered}, {one} -> get({given}, abs({one}.place)).value)")

    return let(a, made)


def _by_item(floats: Callable[[Checked], Checked], other: Callable[[Checked], Checked]) -> Emit:
    """SQL that the type of the items asks for."""

    def emit(writer: Writer, call: Call) -> Checked:
        of = kind(call)
        assert isinstance(of, List)
        return (floats if isinstance(strip(of.item), Float) else other)(writer.emit(call.arguments[0]))

    return emit


def _sum(writer: Writer, call: Call) -> Checked:
    result = strip(call.type)
    if isinstance(result, Decimal):
        return sum_of_decimals(writer.emit(call.arguments[0]), result)
    return _by_item(sum_of_floats, sum_of_whole)(writer, call)


def _sorted(write: Callable[[Checked, bool], Checked]) -> Emit:
    return lambda writer, call: write(writer.emit(call.arguments[0]), bool(constant(call.arguments[1])))


EMITTERS: dict[str, Emit] = {
    "get": by_kind({Map: plain(held)}, plain(item)),
    "list_sum": _sum,
    "list_mean": _by_item(mean_of_floats, mean_of_numbers),
    "list_sort": _sorted(sorted_items),
    "list_sort_by": _sorted(sorted_by_key),
}
