"""Operators one at a time, as another engine tests its views: each view of a case is a program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from tests.conformance.foreign.cases import Case, CaseSet, Difference, json_lines

__all__ = ["RISINGWAVE"]
_DEFINED_AGAIN = ("group_top_n", "two_phase_agg")
_EMPTY = {"t4.jsonl": b"", "t5.jsonl": b"", "version.jsonl": b""}
"""Tables that stay empty."""


@cache
def _cases(shared: Path) -> dict[str, Case]:
    text = (shared / "conformance/risingwave_operator_cases/cases.json").read_text(encoding="utf-8")
    return {
        f"{each['id']}/{name}": case
        for each in json.loads(text)
        for name, case in _views(each["steps"], each["id"] in _DEFINED_AGAIN).items()
    }


def _views(steps: Sequence[dict[str, Any]], defined_again: bool) -> dict[str, Case]:
    """What each view holds in the end, before the first row is changed or deleted; where the same name is defined
    again, what each definition holds, with a number behind the name.
    """
    tables: dict[str, list[object]] = {}
    found: dict[str, Case] = {}
    for step in steps:
        if step["op"] == "dml":
            break
        if step["op"] == "insert":
            rows = [dict(zip(step["columns"], row, strict=True)) for row in step["rows"]]
            tables.setdefault(step["table"], []).extend(rows)
            continue
        inputs = {f"{name}.jsonl": json_lines(rows) for name, rows in tables.items()}
        if not inputs:
            continue
        view = step["view"]
        number = next(n for n in count(1) if (f"{view}_{n}" if n > 1 else view) not in found)
        rows = [row.replace("+00:00", "") for row in step["rows"]]
        found[f"{view}_{number}" if defined_again and number > 1 else view] = Case({**_EMPTY, **inputs}, rows)
    return found


def _names(shared: Path) -> Sequence[str]:
    return sorted(_cases(shared))


def _load(shared: Path, name: str) -> Case:
    return _cases(shared)[name]


_END = "the end of input closes every window (DESIGN 12), so that ours gives the last one, too"
_HELD = "nothing: rows held back until the watermark has passed them; ours go on at once"
_UNTIMED = (
    "nothing: behind a join with records that have no event time there is none (DESIGN 12); a window stands before it"
)

RISINGWAVE = CaseSet(
    "risingwave",
    "RisingWave's operators",
    _load,
    _names,
    waits={"emit_on_window_close_passthrough/mv": _HELD, "lookup_join_then_window/eowc_mv": _UNTIMED},
    differs={
        "emit_on_window_close_max/mv": Difference(_END, more=["2023-05-06 18:00:00 7"]),
        "emit_on_window_close_topn/mv": Difference(_END, more=["2023-05-06 18:00:00 6"]),
    },
)
