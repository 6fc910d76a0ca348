"""How commands show what an edit of a program keeps, adds, swaps and drops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ghcm.cli import terminal


def show(upgrade: Mapping[str, Any]) -> None:
    """A line per part of the program, what has changed first."""
    listed = cast("list[dict[str, str]]", upgrade["changes"])
    lines = [(each["change"], each["part"], _name(each), each["note"]) for each in listed]
    terminal.table(
        ("change", "part", "name", ""), sorted(lines, key=lambda line: line[0] == "kept"), "nothing is there"
    )


def _name(change: Mapping[str, str]) -> str:
    return f"{change['unit']}: {change['name']}" if change["unit"] else change["name"]
