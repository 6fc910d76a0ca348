"""Groups of records of which those of one window or key follow each other: the same as of any others."""

from __future__ import annotations

from itertools import combinations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from ghcm.runtime.native import columns

RUN = 17_000
PARTS = (pl.len().alias("count"), pl.col("n").sum().alias("total"))


def test_columns_and_fields_that_are_alike_everywhere_tell_no_groups_apart() -> None:
    nan = float("nan")
    columns_of = {
        "same": ["x"] * 6, "other": [1, 2, 1, 2, 2, 1], "some": [None, 7, 7, 7, None, 7], "nulls": [None] * 6,
        "floats": [nan, nan, 0.0, -0.0, nan, 0.0], "alike": [7] * 6,
    }  # fmt: skip
    frame = pl.DataFrame({"n": range(6), **columns_of}, schema_overrides={"nulls": pl.Int64})
    for width in (1, 2, 3):
        for keys in map(list, combinations(columns_of, width)):
            expected = frame.group_by(keys, maintain_order=True).agg(PARTS)
            assert_frame_equal(columns.grouped(frame, keys, *PARTS), expected)
            by_key = frame.select("n", pl.struct(keys).alias("key"))
            expected = by_key.group_by("key", maintain_order=True).agg(PARTS)
            assert_frame_equal(columns.by_key(by_key, *PARTS), expected)
    for rows in (pl.lit(value=False), pl.col("n") == 1):
        few = frame.filter(rows)
        assert_frame_equal(columns.grouped(few, ["alike"], *PARTS), few.group_by("alike").agg(PARTS))


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
    window = [pl.col("window").struct.field(name).cast(pl.Int64).alias(name) for name in ("start", "end")]
    expected = frame.group_by("key", *window, maintain_order=True).agg(*PARTS)
    assert_frame_equal(columns.in_windows(frame, "key", *PARTS), expected)
    expected = frame.group_by(*window, maintain_order=True).agg(*PARTS)
    assert_frame_equal(columns.in_windows(frame, None, *PARTS), expected)
    by_window = frame.select("n", pl.col("window").alias("key"))
    expected = by_window.group_by("key", maintain_order=True).agg(*PARTS)
    assert_frame_equal(columns.by_key(by_window, *PARTS), expected)
    assert_frame_equal(columns.by_key(frame, *PARTS), frame.group_by("key", maintain_order=True).agg(*PARTS))
