"""The meanings of the functions of maps."""

from __future__ import annotations

from typing import Any

from ghcm.functions import Failure
from ghcm.spg.reference.functions.meaning import Meaning, Types, fail


def _from_entries(_: Types, entries: list[tuple[Any, Any]]) -> dict[Any, Any]:
    found = dict(entries)
    return {key: found[key] for key in sorted(found)}


def _at(_: Types, of: dict[Any, Any], key: Any) -> Any:
    return of[key] if key in of else fail(Failure.OUT_OF_RANGE, f"the map has no key {key!r}")


MEANINGS: dict[str, Meaning] = {
    "map_at": _at,
    "has_key": lambda _, of, key: key in of,
    "keys": lambda _, of: sorted(of),
    "values": lambda _, of: [of[key] for key in sorted(of)],
    "entries": lambda _, of: [(key, of[key]) for key in sorted(of)],
    "from_entries": _from_entries,
}
