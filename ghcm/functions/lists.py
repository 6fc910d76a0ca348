"""Lists in the table of functions.

Positions are from 0. What sums up or orders items is a method, `xs.sum()`, as `sum(x)` aggregates records.
"""

from __future__ import annotations

from ghcm.functions.table import ELSE, Example, Failure, Function
from ghcm.signatures import BOOL, FLOAT, INT, Resolution, Rule, comparable, first
from ghcm.types import Decimal, Duration, Float, Int, Int32, List, Map, Nullable, Struct, Type, as_nullable, strip
from ghcm.types.unification import MAX_SUMMED_PRECISION, sum_of_many, unify

SUMMARIES = {"sum": "list_sum", "mean": "list_mean", "min": "list_min", "max": "list_max"}
"""The methods that make one value of the items, or of what a function gives for each, by name."""


def list_get(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list and an index give an item."""
    if len(arguments) != 2 or not isinstance(arguments[0], List) or arguments[1] not in (INT, Int32()):
        return None
    return Resolution((arguments[0], INT), arguments[0].item)


def map_get(arguments: tuple[Type, ...]) -> Resolution | None:
    """A map and a key give a value, or null."""
    match arguments:
        case (Map(key=key, value=value) as map_, given) if unify(given, key) == key:
            return Resolution((map_, key), as_nullable(value))
        case _:  # these do not fit
            return None


def _total(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list of numbers or durations gives one."""
    match arguments:
        case (List(item=item),) if isinstance(plain := strip(item), Int | Int32 | Float | Duration):
            return Resolution(arguments, Nullable(INT if isinstance(plain, Int32) else plain))
        case (List(item=item),) if (
            isinstance(plain := strip(item), Decimal) and plain.precision <= MAX_SUMMED_PRECISION
        ):
            return Resolution(arguments, Nullable(sum_of_many(plain)))
        case _:  # these do not fit
            return None


def _mean(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list of numbers gives float."""
    found = _total(arguments)
    fits = found is not None and not isinstance(strip(found.result), Duration | Decimal)
    return Resolution(arguments, Nullable(FLOAT)) if fits else None


def _extreme(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list of comparable items gives one of them."""
    match arguments:
        case (List(item=item),) if comparable(item):
            return Resolution(arguments, as_nullable(item))
        case _:  # these do not fit
            return None


def _ordered(*options: Type) -> Rule:
    """A list of comparable items gives a list like it."""

    def rule(arguments: tuple[Type, ...]) -> Resolution | None:
        match arguments:
            case (List(item=item), *rest) if comparable(item) and tuple(rest) == options:
                return Resolution(arguments, arguments[0])
            case _:  # these do not fit
                return None

    return rule


def _ordered_by(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list of records of a comparable key and a value gives a list of the values."""
    match arguments:
        case (List(item=Struct(fields=(key, value))), option) if comparable(key.type) and option == BOOL:
            named = (key.name, value.name) == ("key", "value")
            return Resolution(arguments, List(value.type)) if named else None
        case _:  # these do not fit
            return None


_OR_VALUES = "of the items, or of what a function gives for each; nulls are skipped, of nothing it is null"

# fmt: off
TABLE = (
    Function(
        "get", "get(list, index), list[index], get(map, key)", first(list_get, map_get),
        says="the item at index (from 0; of -1 on from the last one), failing outside the list; the value of the key, "
        "null where the map does not have it",
        failures=(Failure.OUT_OF_RANGE,),
        examples=(
            Example("get([10, 20], 1)", "20"),
            Example('get(map_of("a", 1), "b")', "null"),
            Example("[10, 20][-1]", "20"),
            Example('"a,b,c".split(",")[-2]', '"b"'),
            Example("[10, 20, 30][1 - 3]", "20"),
            Example("[10][-2]", fails=Failure.OUT_OF_RANGE),
            Example("get([10, 20], 2)", fails=Failure.OUT_OF_RANGE),
        ),
        python={Map: "{0}.get({1})", ELSE: "row_collections.item({0}, {1})"},
        polars={Map: "column_collections.value({0}, {1}, {type})", ELSE: "column_collections.item({0}, {1})"},
        polars_fails={Map: "", ELSE: "column_collections.item_fails({0}, {1})"},
        spark={Map: "try_element_at({0}, {1})"},
    ),
    Function(
        "list_sum", "list.sum(), list.sum(x => ...)", _total,
        says=f"the sum {_OR_VALUES}; whole numbers add up in 128 bits and are checked at the end; decimals of up to 28 "
        "digits are exact, and the sum has ten digits more",
        failures=(Failure.OVERFLOW,),
        examples=(
            Example("[1, 2, 3].sum()", "6"),
            Example("[1, 2, 3].sum(x => x * 2)", "12"),
            Example("[9223372036854775807, 1].sum()", fails=Failure.OVERFLOW),
        ),
    ),
    Function(
        "list_mean", "list.mean(), list.mean(x => ...)", _mean, says=f"the mean {_OR_VALUES}",
        examples=(Example("[1, 2].mean()", "1.5"),),
        python="row_collections.mean({0})",
    ),
    Function(
        "list_min", "list.min(), list.min(x => ...)", _extreme, says=f"the least {_OR_VALUES}",
        examples=(Example('["b", "a"].min()', '"a"'), Example('["bb", "a"].min(x => length(x))', "1")),
        polars="{0}.list.drop_nulls().list.sort().list.first()",
        spark="array_min({0})",
    ),
    Function(
        "list_max", "list.max(), list.max(x => ...)", _extreme, says=f"the greatest {_OR_VALUES}; NaN is greatest",
        examples=(Example("[1.5, 2.5].max()", "2.5"),),
        polars="{0}.list.drop_nulls().list.sort().list.last()",
        spark="array_max({0})",
    ),
    Function(
        "list_sort", "list.sort(), list.sort(descending = true)", _ordered(BOOL),
        says="the items in order; nulls come first, and last in descending order; equal items stay as they stood",
        constants=(1,),
        examples=(
            Example("[2, 3, 1].sort()", "[1, 2, 3]"),
            Example("[2, null, 1].sort(descending = true)", "[2, 1, null]"),
        ),
        polars="{0}.list.sort(descending={1:bare}, nulls_last={1:bare})",
    ),
    Function(
        "list_sort_by", "list.sort(by = x => ...), list.sort(by = x => ..., descending = true)", _ordered_by,
        says="the items in the order of what a function gives for each, as `sort` orders it", constants=(1,),
        examples=(
            Example('["ccc", "a", "bb"].sort(by = x => length(x))', '["a", "bb", "ccc"]'),
            Example('["a", "bb", "c"].sort(by = x => length(x), descending = true)', '["bb", "a", "c"]'),
        ),
        polars="column_collections.sort_by({0}, descending={1:bare})",
    ),
    Function(
        "list_distinct", "list.distinct()", _ordered(), says="each item once, where it stands first",
        examples=(Example("[2, 1, 2].distinct()", "[2, 1]"),),
        polars="{0}.list.unique(maintain_order=True)",
        spark="array_distinct({0})",
    ),
)
