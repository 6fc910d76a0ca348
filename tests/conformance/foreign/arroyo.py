"""The smoke tests of a streaming SQL engine, without those whose inputs or results are not published."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.conformance.foreign.cases import Case, CaseSet

__all__ = ["ARROYO"]

_FOLDER = "conformance/arroyo_sql_golden"
_KEYS = {
    "active_drivers": (),
    "aggregates": (),
    "debezium_agg": ("id",),
    "debezium_coercion": ("counter",),
    "debezium_pass_through": ("id",),
    "every_aggregate": ("event_type",),
    "filter_updating_aggregates": (),
    "grouped_aggregates": ("counter_mod",),
    "updating_inner_join": ("left_count",),
}
"""The cases whose results are logs of changes, and the columns that tell what changes."""


def _names(shared: Path) -> Sequence[str]:
    return sorted(path.stem for path in (shared / _FOLDER / "golden_outputs").glob("*.json"))


def _load(shared: Path, name: str) -> Case:
    folder = shared / _FOLDER
    text = (folder / "golden_outputs" / f"{name}.json").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    inputs = {f"{path.stem}.jsonl": path for path in (folder / "inputs").glob("*.json")}
    return Case(inputs, _folded(rows, _KEYS[name]) if name in _KEYS else rows)


def _folded(changes: Sequence[dict[str, Any]], key: tuple[str, ...]) -> list[object]:
    """What a log of changes leaves."""
    left: dict[tuple[object, ...], object] = {}
    for change in changes:
        before, after = change["before"], change["after"]
        if before is not None:
            left.pop(tuple(before[name] for name in key), None)
        if after is not None:
            left[tuple(after[name] for name in key)] = after
    return list(left.values())


ARROYO = CaseSet(
    "arroyo",
    "Arroyo's SQL smoke tests",
    _load,
    _names,
    waits={
        "every_aggregate": "nothing: quantiles that are estimated or weighted are what an algorithm gives, and ours "
        "are exact; aggregates by bits"
    },
)
