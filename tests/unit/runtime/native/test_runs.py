"""Groups of records of which those of one window or key follow each other: the same as of any others."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from ghcm.runtime.native import columns

RUN = 1000


def _frame(starts: list[int | None]) -> pl.DataFrame:
    """Runs of records of windows that begin then."""
    times = [start for start in starts for _ in range(RUN)]
    ends = [None if start is None else start + 10 for start in times]
    window = pl.DataFrame({"start": times, "end": ends}, schema={"start": pl.Int64, "end": pl.Int64})
    moment = pl.all().cast(pl.Datetime("us", "UTC"))
    values = [number * 7 % 13 for number in range(len(times))]
    return pl.DataFrame({"key": values, "n": range(len(times)), "window": window.select(moment).to_struct()})


@pytest.mark.parametrize("starts", [[5], [10, 20, 30], [10, 20, 10], [0, None, 10], list(range(0, 200, 10)), []])
def test_runs_are_grouped_as_any_other_records(starts: list[int | None]) -> None:
    frame = _frame(starts)
    parts = [pl.len().alias("count"), pl.col("n").sum().alias("total")]
    window = [pl.col("window").struct.field(name).cast(pl.Int64).alias(name) for name in ("start", "end")]
    expected = frame.group_by("key", *window, maintain_order=True).agg(*parts)
    assert_frame_equal(columns.in_windows(frame, "key", *parts), expected)
    expected = frame.group_by(*window, maintain_order=True).agg(*parts)
    assert_frame_equal(columns.in_windows(frame, None, *parts), expected)
    by_window = frame.select("n", pl.col("window").alias("key"))
    expected = by_window.group_by("key", maintain_order=True).agg(*parts)
    assert_frame_equal(columns.by_key(by_window, *parts), expected)
    assert_frame_equal(columns.by_key(frame, *parts), frame.group_by("key", maintain_order=True).agg(*parts))
