"""The meanings of the functions of maps."""

from __future__ import annotations

from typing import Any

from ghcm.spg.reference.functions.meaning import Meaning, Types

__all__ = ["MEANINGS"]


def _from_entries(_: Types, entries: list[tuple[Any, Any]]) -> dict[Any, Any]:
    found = dict(entries)
    return {key: found[key] for key in sorted(found)}


MEANINGS: dict[str, Meaning] = {
    "has_key": lambda _, of, key: key in of,
    "keys": lambda _, of: sorted(of),
    "values": lambda _, of: [of[key] for key in sorted(of)],
    "entries": lambda _, of: [(key, of[key]) for key in sorted(of)],
    "from_entries": _from_entries,
}
