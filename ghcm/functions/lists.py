"""Lists in the table of functions.

Positions are from 0.
"""

from __future__ import annotations

from ghcm.functions.table import Failure, Function
from ghcm.signatures import INT, Resolution
from ghcm.types import Int32, List, Type

__all__ = ["TABLE"]


def list_get(arguments: tuple[Type, ...]) -> Resolution | None:
    """A list and an index give an item."""
    if len(arguments) != 2 or not isinstance(arguments[0], List) or arguments[1] not in (INT, Int32()):
        return None
    return Resolution((arguments[0], INT), arguments[0].item)


TABLE = (
    Function(
        "get",
        "get(list, index)",
        list_get,
        "the item at index (from 0); fails outside the list or for a negative index",
        failures=(Failure.OUT_OF_RANGE,),
    ),
)
