"""Lists and maps as SQL, where no text of the table can say it."""

from collections.abc import Callable

from ghcm.codegen.spark.functions.emitting import Emit, Writer, by_kind, kind, plain
from ghcm.codegen.spark.functions.numbers import WIDE, narrow
from ghcm.codegen.spark.library.sql import fails, when
from ghcm.codegen.spark.names import variable
from ghcm.codegen.spark.sql import Checked, all_of, ddl, given, in_lambda, let, partial, pure
from ghcm.expr import Call
from ghcm.failing import constant
from ghcm.types import Decimal, Float, List, strip

# --- lists -----------------------------------------------------------------------------------------------------------


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


def has_item(a: Checked, item: Checked) -> Checked:
    """Whether a list has the item."""
    found = f"array_contains({a}, {item})"  # `exists` would take the rows out of the loop of their stage
    return pure(when(f"{item} IS NOT NULL", found) if item.nullable else found, a, item)


def _slice(writer: Writer, call: Call) -> Checked:
    """What stands from an index up to before another, as Python's."""
    a, *indices = map(writer.emit, call.arguments)
    size, cut = ("array_size", "slice") if isinstance(kind(call), List) else ("char_length", "substring")
    low, count = bounds(f"bigint({size}({a}))", *indices)
    return pure(f"{cut}({a}, int({low}) + 1, int({count}))", a, *indices)


def bounds(length: str, start: Checked, end: Checked | None = None) -> tuple[str, str]:
    """The first index and the count of a slice."""
    low = index_in(length, start.value)
    high = length if end is None else index_in(length, end.value)
    return low, when(f"{high} > {low}", f"{high} - {low}", when(f"{high} <= {low}", "0L"))


def index_in(length: str, index: str) -> str:
    """An index that is not outside, counted from the end where it is negative."""
    behind = when(f"{index} < -{length}", "0L", f"{length} + {index}")
    inside = when(f"{index} > {length}", length, index)
    return f"({when(f'{index} < 0', f'({behind})', f'({inside})')})"


def known_items(value: str) -> str:
    """The items of a list that are not null."""
    each = variable()
    return f"filter({value}, {each} -> {each} IS NOT NULL)"


def added(value: str, type_: str) -> str:
    """The sum of the items of a list that are not null; null of none."""
    total, each = variable("total"), variable("each")
    step = f"({total}, {each}) -> cast({total} + cast({each} AS {type_}) AS {type_})"
    return f"aggregate({known_items(value)}, cast(0 AS {type_}), {step})"


def if_any(value: str, then: str) -> str:
    """Something where a list has an item that is not null."""
    return when(f"array_size({known_items(value)}) > 0", then)


def _sum(writer: Writer, call: Call) -> Checked:
    """The sum of a list: whole numbers add up without a bound, and must fit in the end."""
    a, type_ = writer.emit(call.arguments[0]), strip(call.type)
    if isinstance(type_, Float | Decimal):
        return pure(if_any(a.value, added(a.value, ddl(type_))), a)
    total = narrow(if_any(a.value, added(a.value, WIDE)))
    return partial(total.value, (a,), total.error)


def _mean(writer: Writer, call: Call) -> Checked:
    """The mean of a list: whole numbers add up without a bound."""
    a, of = writer.emit(call.arguments[0]), kind(call)
    assert isinstance(of, List)
    floats = isinstance(strip(of.item), Float)
    total = added(a.value, "double") if floats else f"double({added(a.value, WIDE)})"
    return pure(if_any(a.value, f"{total} / array_size({known_items(a.value)})"), a)


def _sort(writer: Writer, call: Call) -> Checked:
    """The items in order; nulls first, last in descending order."""
    a = writer.emit(call.arguments[0])
    return pure(f"sort_array({a}, {_ascending(call)})", a)


def _sort_by(writer: Writer, call: Call) -> Checked:
    """The values of entries in the order of their keys, equal ones as they stood."""
    ascending = _ascending(call)

    def made(given: Checked) -> Checked:
        each, index, one = variable("each"), variable("index"), variable("sorted")
        stands = index if ascending == "true" else f"-{index}"
        keys = f"transform({given}, ({each}, {index}) -> named_struct('key', {each}.key, 'place', {stands}))"
        return Checked(f"transform(sort_array({keys}, {ascending}), {one} -> get({given}, abs({one}.place)).value)")

    return let(writer.emit(call.arguments[0]), made)


def zipped(a: Checked, b: Checked) -> Checked:
    """The items of both lists in pairs, as many as the shorter one has."""
    one, two, size = variable("one"), variable("two"), f"least(array_size({a}), array_size({b}))"
    cut = (f"slice({each}, 1, {size})" for each in (a, b))
    return pure(f"zip_with({', '.join(cut)}, ({one}, {two}) -> named_struct('_1', {one}, '_2', {two}))", a, b)


def indexed(a: Checked) -> Checked:
    """The items with their positions."""
    each, index = variable("each"), variable("index")
    return pure(f"transform({a}, ({each}, {index}) -> named_struct('_1', {each}, '_2', bigint({index})))", a)


def _ascending(call: Call) -> str:
    return "false" if constant(call.arguments[1]) else "true"


# --- maps ------------------------------------------------------------------------------------------------------------


def values(a: Checked) -> Checked:
    """The values of a map in the order of their keys."""
    return _by_key(a, lambda map_, key: f"try_element_at({map_}, {key})")


def entries(a: Checked) -> Checked:
    """The keys and values of a map in the order of the keys."""
    return _by_key(a, lambda map_, key: f"named_struct('key', {key}, 'value', try_element_at({map_}, {key}))")


def _by_key(a: Checked, write: Callable[[str, str], str]) -> Checked:
    """A list of what is made of a map and each of its keys, ascending."""
    key = variable("key")
    listed = in_lambda(a.value, lambda map_: f"transform(array_sort(map_keys({map_})), {key} -> {write(map_, key)})")
    return pure(listed, a)


def from_entries(a: Checked) -> Checked:
    """The map of keys and values, in the order of its keys; the last value of a key counts."""

    def made(given: Checked) -> Checked:
        key, each, entry = variable("key"), variable("each"), variable("entry")
        distinct = f"array_sort(array_distinct(transform({given}, {entry} -> {entry}.key)))"
        last = f"element_at(filter({given}, {each} -> {each}.key = {key}), -1).value"
        return Checked(f"map_from_arrays({distinct}, transform({distinct}, {key} -> {last}))")

    return let(a, made)


EMITTERS: dict[str, Emit] = {
    "contains": by_kind({List: plain(has_item)}),
    "slice": _slice,
    "get": by_kind({List: plain(item)}),
    "list_sum": _sum,
    "list_mean": _mean,
    "list_sort": _sort,
    "list_sort_by": _sort_by,
    "zip": plain(zipped),
    "indexed": plain(indexed),
    "values": plain(values),
    "entries": plain(entries),
    "from_entries": plain(from_entries),
}
