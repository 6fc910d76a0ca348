"""Windows with scripted watermarks, and joins, as another project tests its runners.

A watermark becomes a record without a value, whose time moves the clock: the programs leave it out behind `event_time`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.conformance.foreign.cases import Case, CaseSet, json_lines

__all__ = ["BEAM"]

_LATE = {"fixed_drop_late_data_after_allowed_lateness": 4}


@cache
def _cases(shared: Path) -> dict[str, Case]:
    folder = shared / "conformance/beam_window_cases"
    found: dict[str, Case] = {}
    for each in json.loads((folder / "yaml_cases.json").read_text(encoding="utf-8")):
        inputs = {f"{name}.jsonl": json_lines(rows) for name, rows in each["inputs"].items()}
        found[each["id"]] = Case(inputs, each["expected"])
    for each in json.loads((folder / "trigger_transcripts.json").read_text(encoding="utf-8")):
        found[each["name"]] = _transcript(
            each["name"], each["transcript"], each.get("accumulation_mode") == "discarding"
        )
    return found


def _transcript(name: str, steps: Sequence[dict[str, Any]], discarding: bool) -> Case:
    """What each window holds in the end: its last result, or all of them where each leaves out those before."""
    events: list[object] = []
    windows: dict[int, dict[str, Any]] = {}
    for step in steps:
        events += [{"t": value, "value": value} for value in step.get("input", [])]
        events += [{"t": step["watermark"], "value": None}] if "watermark" in step else []
        for each in step.get("expect", []):
            start, last = each["window"]
            before = windows[start]["values"] if discarding and start in windows else []
            row = {"start": start, "end": last + 1, "values": sorted([*before, *each.get("values", [])])}
            windows[start] = row | ({"timestamp": each["timestamp"]} if name.startswith("timestamp") else {})
    return Case({"events.jsonl": json_lines(events)}, list(windows.values()), dead=_LATE.get(name, 0))


def _names(shared: Path) -> Sequence[str]:
    return sorted(_cases(shared))


def _load(shared: Path, name: str) -> Case:
    return _cases(shared)[name]


_ONCE = "nothing: a window gives one final result (DESIGN 12), and this one takes the first two records of each"
_HARNESS = "nothing: these check that the harness of the source sees a wrong transcript"

BEAM = CaseSet(
    "beam",
    "Beam's windows",
    _load,
    _names,
    waits={
        "garbage_collection": _ONCE,
        "selfcheck_bad_expected_values": _HARNESS,
        "selfcheck_bad_expected_window": _HARNESS,
        "selfcheck_bad_output": _HARNESS,
        "selfcheck_missing_output": _HARNESS,
        "selfcheck_missing_output_at_end": _HARNESS,
    },
    late=frozenset(_LATE),
)
