"""Lists and maps in the table of functions; `length` stands with those of strings.

Positions are from 0. What sums up or orders items is a method, `xs.sum()`, as `sum(x)` aggregates records. Keys are
exact scalars: no floats, and never null. Where an order shows in a map, it is that of the keys.
"""

from collections.abc import Callable

from ghcm import types
from ghcm.functions.table import ELSE, Failure, Function
from ghcm.signatures import BOOL, FLOAT, INT, Resolution, Rule, comparable, first
from ghcm.types import as_nullable, pair_of, strip
from ghcm.unification import MAX_SUMMED_PRECISION, sum_of_many, unify

MOST_ITEMS = 1_000_000
"""So many items a list may have that is made of a number."""

SUMMARIES = {"sum": "list_sum", "mean": "list_mean", "min": "list_min", "max": "list_max"}
"""The methods that make one value of the items, or of what a function gives for each, by name."""


def list_get(arguments: tuple[types.Type, ...]) -> Resolution | None:
    """A list and an index give an item."""
    if len(arguments) != 2 or not isinstance(arguments[0], types.List) or arguments[1] not in (INT, types.Int32()):
        return None
    return Resolution((arguments[0], INT), arguments[0].item)


def map_get(arguments: tuple[types.Type, ...]) -> Resolution | None:
    """A map and a key give a value, or null."""
    match arguments:
        case (types.Map(key=key, value=value) as map_, given) if unify(given, key) == key:
            return Resolution((map_, key), as_nullable(value))
        case _:  # these do not fit
            return None


def _zipped(arguments: tuple[types.Type, ...]) -> Resolution | None:
    """Two lists give one of pairs."""
    match arguments:
        case (types.List(item=one), types.List(item=two)):
            return Resolution(arguments, types.List(types.tuple_of(one, two)))
        case _:  # these do not fit
            return None


def _indexed(item: types.Type) -> types.Type:
    return types.List(types.tuple_of(item, INT))


def _of_items(gives: Callable[[types.Type], types.Type | None], *options: types.Type) -> Rule:
    """A list and these options; the type of the items says what it gives, if anything."""

    def rule(arguments: tuple[types.Type, ...]) -> Resolution | None:
        match arguments:
            case (types.List(item=item), *rest) if tuple(rest) == options:
                result = gives(item)
                return None if result is None else Resolution(arguments, result)
            case _:  # these do not fit
                return None

    return rule


def _total(item: types.Type) -> types.Type | None:
    match plain := strip(item):
        case types.Int() | types.Int32():
            return types.Nullable(INT)
        case types.Float() | types.Duration():
            return types.Nullable(plain)
        case types.Decimal(precision=precision) if precision <= MAX_SUMMED_PRECISION:
            return types.Nullable(sum_of_many(plain))
        case _:  # these do not add up
            return None


def _mean(item: types.Type) -> types.Type | None:
    return types.Nullable(FLOAT) if isinstance(strip(item), types.Int | types.Int32 | types.Float) else None


def _extreme(item: types.Type) -> types.Type | None:
    return as_nullable(item) if comparable(item) else None


def _ordered(item: types.Type) -> types.Type | None:
    return types.List(item) if comparable(item) else None


def _entry(item: types.Type) -> tuple[types.Type, types.Type] | None:
    """The types of key and value."""
    match item:
        case types.Struct(fields=(key, value)) if (key.name, value.name) == ("key", "value"):
            return key.type, value.type
        case _:  # no entry
            return None


def _ordered_by(item: types.Type) -> types.Type | None:
    found = _entry(item)
    return types.List(found[1]) if found is not None and comparable(found[0]) else None


def _from_entries(item: types.Type) -> types.Type | None:
    found = _entry(item)
    return types.Map(*found) if found is not None and isinstance(found[0], _KEYS) else None


_OR_VALUES = "of the items, or of what a function gives for each; nulls are skipped, of nothing it is null"

# fmt: off
LISTS = (
    Function(
        "get", "get(list, index), list[index], get(map, key)", first(list_get, map_get),
        says="the item at index (from 0; of -1 on from the last one), failing outside the list; the value of the key, "
        "null where the map does not have it",
        failures=(Failure.OUT_OF_RANGE,),
        shows={
            "get([10, 20], 1)": "20", 'get(map_of("a", 1), "b")': "null", "[10, 20][-1]": "20",
            '"a,b,c".split(",")[-2]': '"b"', "[10, 20, 30][1 - 3]": "20", "[10][-2]": Failure.OUT_OF_RANGE,
            "get([10, 20], 2)": Failure.OUT_OF_RANGE,
        },
        python={types.Map: "{0}.get({1})", ELSE: "row_collections.item({0}, {1})"},
        polars={types.Map: "column_collections.value({0}, {1}, {type})", ELSE: "column_collections.item({0}, {1})"},
        polars_fails={types.Map: "", ELSE: "column_collections.item_fails({0}, {1})"},
        spark={types.Map: "try_element_at({0}, {1})"},
    ),
    Function(
        "range", "(count)", (INT,), types.List(INT),
        says="the whole numbers from 0 up to before count; none where that is negative, and a failure above "
        f"{MOST_ITEMS:,}",
        failures=(Failure.OUT_OF_RANGE,),
        shows={
            "range(3)": "[0, 1, 2]", "range(-1)": "[]", "range(24).map(h => h * 2).sum()": "552",
            "range(1000001)": Failure.OUT_OF_RANGE,
        },
        python="row_collections.range_of({0})",
        polars=f"pl.int_ranges(0, {{0}}.clip(0, {MOST_ITEMS}))", polars_fails=f"{{0}} > {MOST_ITEMS}",
        spark="{given:then}CASE WHEN {0} > 0 THEN "
        f"sequence(0L, least({{0}}, {MOST_ITEMS}L) - 1L) ELSE cast(array() AS {{type}}) END",
        spark_fails=((f"{{0}} > {MOST_ITEMS}L", Failure.OUT_OF_RANGE, "a list of too many items"),),
    ),
    Function(
        "list_sum", "list.sum(), list.sum(x => ...)", _of_items(_total),
        says=f"the sum {_OR_VALUES}; whole numbers add up in 128 bits and are checked at the end; decimals of up to 28 "
        "digits are exact, and the sum has ten digits more",
        failures=(Failure.OVERFLOW,),
        shows={
            "[1, 2, 3].sum()": "6", "[1, 2, 3].sum(x => x * 2)": "12",
            "[9223372036854775807, 1].sum()": Failure.OVERFLOW,
        },
    ),
    Function(
        "list_mean", "list.mean(), list.mean(x => ...)", _of_items(_mean), says=f"the mean {_OR_VALUES}",
        shows={"[1, 2].mean()": "1.5"},
        python="row_collections.mean({0})",
    ),
    Function(
        "list_min", "list.min(), list.min(x => ...)", _of_items(_extreme), says=f"the least {_OR_VALUES}",
        shows={'["b", "a"].min()': '"a"', '["bb", "a"].min(x => length(x))': "1"},
        polars="{0}.list.drop_nulls().list.sort().list.first()", spark="array_min({0})",
    ),
    Function(
        "list_max", "list.max(), list.max(x => ...)", _of_items(_extreme),
        says=f"the greatest {_OR_VALUES}; NaN is greatest",
        shows={"[1.5, 2.5].max()": "2.5"},
        polars="{0}.list.drop_nulls().list.sort().list.last()", spark="array_max({0})",
    ),
    Function(
        "list_sort", "list.sort(), list.sort(descending = true)", _of_items(_ordered, BOOL),
        says="the items in order; nulls come first, and last in descending order; equal items stay as they stood",
        constants=(1,), shows={"[2, 3, 1].sort()": "[1, 2, 3]", "[2, null, 1].sort(descending = true)": "[2, 1, null]"},
        polars="{0}.list.sort(descending={1:bare}, nulls_last={1:bare})",
    ),
    Function(
        "list_sort_by", "list.sort(by = x => ...), list.sort(by = x => ..., descending = true)",
        _of_items(_ordered_by, BOOL),
        says="the items in the order of what a function gives for each, as `sort` orders it", constants=(1,),
        shows={
            '["ccc", "a", "bb"].sort(by = x => length(x))': '["a", "bb", "ccc"]',
            '["a", "bb", "c"].sort(by = x => length(x), descending = true)': '["bb", "a", "c"]',
        },
        polars="column_collections.sort_by({0}, descending={1:bare})",
    ),
    Function(
        "list_distinct", "list.distinct()", _of_items(_ordered), says="each item once, where it stands first",
        shows={"[2, 1, 2].distinct()": "[2, 1]"},
        polars="{0}.list.unique(maintain_order=True)", spark="array_distinct({0})",
    ),
    Function(
        "zip", "(list, other)", _zipped,
        says="the items of two lists in pairs `(a, b)`, as many as the shorter list has",
        shows={
            'zip([1, 2], ["a", "b", "c"]).map(p => p._2)': '["a", "b"]',
            "zip(range(3), [5, 6]).sum(p => p._1 * p._2)": "6",
        },
        python="row_collections.zipped({0}, {1})", polars="per_item.zipped({0}, {1}, {type})",
    ),
    Function(
        "indexed", "(list)", _of_items(_indexed),
        says="the items in pairs with their positions, `(item, 0)` first; `xs.map((x, i) => ...)` goes through them",
        shows={'["a", "b"].indexed().map(p => p._2)': "[0, 1]"},
        python="row_collections.indexed({0})", polars="column_collections.indexed({0}, {type})",
    ),
)


_KEYS = (
    *(types.Bool, types.Int, types.Int32, types.String, types.Enumeration),
    *(types.Timestamp, types.Date, types.Duration),
)


def _with_key(arguments: tuple[types.Type, ...]) -> Resolution | None:
    """A map and a key give bool."""
    match arguments:
        case (types.Map(key=key) as map_, given) if isinstance(key, _KEYS) and unify(given, key) == key:
            return Resolution((map_, key), BOOL)
        case _:  # these do not fit
            return None


def _value_of(arguments: tuple[types.Type, ...]) -> Resolution | None:
    """A map and a key give a value."""
    match arguments:
        case (types.Map(key=key, value=value) as map_, _) if _with_key(arguments):
            return Resolution((map_, key), value)
        case _:  # these do not fit
            return None


def _listed(field: str) -> Rule:
    """A map gives a list of that part of its entries, or of the entries."""

    def rule(arguments: tuple[types.Type, ...]) -> Resolution | None:
        match arguments:
            case (types.Map(key=key, value=value),) if isinstance(key, _KEYS):
                parts: dict[str, types.Type] = {"key": key, "value": value, "": pair_of(key, value)}
                return Resolution(arguments, types.List(parts[field]))
            case _:  # these do not fit
                return None

    return rule


MAPS = (
    Function(
        "map_at", "map[key]", _value_of, method=False, failures=(Failure.OUT_OF_RANGE,),
        says="the value of the key; fails where the map does not have it, for which `get(map, key)` gives null",
        shows={'map_of("a", 1, "b", 2)["b"]': "2", 'map_of("a", 1)["b"]': Failure.OUT_OF_RANGE},
        python="row_collections.at({0}, {1})",
        polars="column_collections.value({0}, {1}, {type})", polars_fails="~column_collections.has_key({0}, {1})",
        spark="try_element_at({0}, {1})",
        spark_fails=(
            ("{given}NOT map_contains_key({0}, {1})", Failure.OUT_OF_RANGE, "no such key in the map"),
        ),
    ),
    Function(
        "has_key", "has_key(map, key), key in map", _with_key,
        says="whether the map has the key; its value may be null",
        shows={'has_key(map_of("a", 1, "b", 2), "b")': "true"},
        polars="column_collections.has_key({0}, {1})",
        spark="CASE WHEN {1} IS NOT NULL THEN map_contains_key({0}, {1}) END",
    ),
    Function(
        "keys", "(map)", _listed("key"), says="the keys, ascending",
        shows={'keys(map_of("b", 2, "a", 1))': '["a", "b"]'},
        python="sorted({0})", polars='{0}.list.eval(pl.element().struct.field("key").sort()).cast({type})',
        spark="array_sort(map_keys({0}))",
    ),
    Function(
        "values", "(map)", _listed("value"), says="the values in the order of their keys",
        shows={'values(map_of("b", 2, "a", 1))': "[1, 2]"},
        python="row_collections.values({0})", polars="column_collections.values({0}, {type})",
    ),
    Function(
        "entries", "(map)", _listed(""),
        says="records `{key, value}` in the order of their keys; maps are not compared, these lists are",
        shows={
            'entries(map_of("a", 1))': '[{"key": "a", "value": 1}]',
            'map_of("b", 2, "a", 1).entries() == map_of("a", 1, "b", 2).entries()': "true",
        },
        python="row_collections.entries({0})", polars="column_collections.entries({0}, {type})",
    ),
    Function(
        "from_entries", "from_entries(list), map_of(key, value, ...)", _of_items(_from_entries),
        says="the map of a list of records `{key, value}`, or of keys and values as arguments; of several entries with "
        "one key the last counts; keys are neither null nor floats",
        shows={'map_of("a", 1, "b", 2)': '{"a": 1, "b": 2}', 'from_entries([{ key: "a", value: 1 }])': '{"a": 1}'},
        python="dict(row_collections.entries(dict({0})))", polars="column_collections.from_entries({0}, {type})",
    ),
)
