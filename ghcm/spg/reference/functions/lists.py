"""The meanings of the functions of lists."""

from __future__ import annotations

from typing import Any

from ghcm.functions import Failure
from ghcm.spg.reference.functions.meaning import Meaning, Types, fail
from ghcm.types import Map

__all__ = ["MEANINGS"]


def _get(types: Types, of: Any, place: Any) -> Any:
    return of.get(place) if isinstance(types.first, Map) else _item(of, place)


def _item(items: list[Any], index: int) -> Any:
    return items[index] if 0 <= index < len(items) else fail(Failure.OUT_OF_RANGE, f"no item {index} of {len(items)}")


MEANINGS: dict[str, Meaning] = {
    "get": _get,
}
