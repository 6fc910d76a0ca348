"""A strategy of small units for every op of the SPG."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from ghcm.spg.graph import Program
from tests.unit.runtime.operators.small_groups import (
    aggregate_by_key,
    changes,
    count,
    distinct,
    group_by_key,
    join,
    latest,
    order,
    publish,
    reduce_by_key,
    windows_of_windows,
)
from tests.unit.runtime.operators.small_iterations import iterate
from tests.unit.runtime.operators.small_rows import python_batch, python_call, rows, union

__all__ = ["UNITS"]

UNITS: dict[str, Callable[[], st.SearchStrategy[Program]]] = {
    "rows": rows,
    "python": python_call,
    "python_batch": python_batch,
    "union": union,
    "reduce_by_key": reduce_by_key,
    "aggregate_by_key": aggregate_by_key,
    "group_by_key": group_by_key,
    "changes": changes,
    "latest": latest,
    "count": count,
    "distinct": distinct,
    "order": order,
    "join": join,
    "iterate": iterate,
    "publish": publish,
    "windows_of_windows": windows_of_windows,
}
