"""Lists in the table of functions.

Positions are from 0.
"""

from __future__ import annotations

from ghcm.functions.table import Failure, Function
from ghcm.signatures import INT, Resolution, first
from ghcm.types import Int32, List, Map, Type, as_nullable, unify

__all__ = ["TABLE"]


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
        case _:
            return None


TABLE = (
    Function(
        "get",
        "get(list, index), get(map, key)",
        first(list_get, map_get),
        "the item at index (from 0), failing outside the list or for a negative index; the value of the key, null where the map does not have it",
        failures=(Failure.OUT_OF_RANGE,),
    ),
)
