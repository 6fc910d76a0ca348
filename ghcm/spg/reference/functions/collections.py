"""The meanings of the functions of lists and maps."""

import math
from fractions import Fraction
from typing import Any

from ghcm.functions import Failure
from ghcm.functions.collections import MOST_ITEMS
from ghcm.spg.reference.functions.meaning import Meaning, Types, checked, fail, sum_at_scale
from ghcm.spg.reference.order import order_key
from ghcm.types import Decimal, Float, List, Map, Struct, Type, strip


def _get(types: Types, of: Any, key: Any) -> Any:
    return of.get(key) if isinstance(types.first, Map) else _item(of, key)


def _item(items: list[Any], index: int) -> Any:
    inside = -len(items) <= index < len(items)
    return items[index] if inside else fail(Failure.OUT_OF_RANGE, f"no item {index} of {len(items)}")


def _range(_: Types, count: int) -> list[int]:
    return fail(Failure.OUT_OF_RANGE, f"a list of {count} items") if count > MOST_ITEMS else list(range(count))


def _item_type(types: Types) -> Type:
    assert isinstance(types.first, List)
    return types.first.item


def _known(items: list[Any]) -> list[Any]:
    return [item for item in items if item is not None]


def _sum(types: Types, items: list[Any]) -> Any:
    known = _known(items)
    if not known:
        return None
    if isinstance(to := strip(types.result), Decimal):
        return sum_at_scale(known, to)
    return _exact(known, 1) if isinstance(strip(_item_type(types)), Float) else checked(sum(known))


def _mean(types: Types, items: list[Any]) -> float | None:
    known = _known(items)
    return _exact(known, len(known)) if known else None


def _exact(numbers: list[Any], count: int) -> float:
    """The double nearest to the exact sum divided by `count`; NaN and the infinities as IEEE adds them."""
    special = [each for each in numbers if not math.isfinite(each)]
    if special:
        return float(sum(special))
    exact = sum(map(Fraction, numbers), Fraction(0)) / count
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _extreme(types: Types, items: list[Any], *, greatest: bool) -> Any:
    known = _known(items)
    if not known:
        return None
    return (max if greatest else min)(known, key=lambda item: order_key(item, _item_type(types)))


def _sort(types: Types, items: list[Any], descending: bool) -> list[Any]:
    return sorted(items, key=lambda item: order_key(item, _item_type(types)), reverse=descending)


def _sort_by(types: Types, entries: list[tuple[Any, Any]], descending: bool) -> list[Any]:
    entry = _item_type(types)
    assert isinstance(entry, Struct)
    key = entry.fields[0].type
    return [value for _, value in sorted(entries, key=lambda each: order_key(each[0], key), reverse=descending)]


def _distinct(types: Types, items: list[Any]) -> list[Any]:
    first: dict[object, Any] = {}
    for item in items:
        first.setdefault(order_key(item, _item_type(types)), item)
    return list(first.values())


# --- maps -------------------------------------------------------------------------------------------------------------


def _from_entries(_: Types, entries: list[tuple[Any, Any]]) -> dict[Any, Any]:
    found = dict(entries)
    return {key: found[key] for key in sorted(found)}


def _at(_: Types, of: dict[Any, Any], key: Any) -> Any:
    return of[key] if key in of else fail(Failure.OUT_OF_RANGE, f"the map has no key {key!r}")


MEANINGS: dict[str, Meaning] = {
    "range": _range,
    "get": _get,
    "list_sum": _sum,
    "list_mean": _mean,
    "list_min": lambda types, items: _extreme(types, items, greatest=False),
    "list_max": lambda types, items: _extreme(types, items, greatest=True),
    "list_sort": _sort,
    "list_sort_by": _sort_by,
    "list_distinct": _distinct,
    "zip": lambda _, one, two: [(one[place], two[place]) for place in range(min(len(one), len(two)))],
    "indexed": lambda _, items: [(items[place], place) for place in range(len(items))],
    "map_at": _at,
    "has_key": lambda _, of, key: key in of,
    "keys": lambda _, of: sorted(of),
    "values": lambda _, of: [of[key] for key in sorted(of)],
    "entries": lambda _, of: [(key, of[key]) for key in sorted(of)],
    "from_entries": _from_entries,
}
