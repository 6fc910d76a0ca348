"""The queries of NEXMark over a fixed instance, as another engine publishes their results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.foreign.cases import Case, CaseSet

__all__ = ["NEXMARK"]

_FOLDER = "conformance/nexmark_risingwave_golden"
_CONSTANT = {"q10": 5, "q16": 2}
"""Columns of the source that are the same text in every row, made by a format of its own."""


def _names(shared: Path) -> Sequence[str]:
    return sorted(path.stem for path in (shared / _FOLDER / "golden").glob("*.json"))


def _load(shared: Path, name: str) -> Case:
    folder = shared / _FOLDER
    rows: list[list[object]] = json.loads((folder / "golden" / f"{name}.json").read_text(encoding="utf-8"))[
        "typed_rows"
    ]
    left_out = _CONSTANT.get(name)
    expected = [[cell for place, cell in enumerate(row) if place != left_out] for row in rows]
    return Case({path.name: path for path in folder.glob("*.jsonl")}, expected)


NEXMARK = CaseSet("nexmark", "NEXMark", _load, _names)
