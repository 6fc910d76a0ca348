"""Where whole numbers leave 64 bits: with numbers that are known beforehand, and with columns."""

import operator

import polars as pl
import pytest

from ghcm.runtime.native.column_functions.numbers import add_fails, multiply_fails, subtract_fails
from ghcm.types import INT_MAX, INT_MIN

EDGES = [0, 1, 2, 3, 7, INT_MAX // 3, INT_MAX // 3 + 1, INT_MAX // 2, INT_MAX // 2 + 1, INT_MAX - 1, INT_MAX]
VALUES = [*EDGES, *(-each for each in EDGES), INT_MIN, INT_MIN + 1, INT_MIN // 2 - 1, INT_MIN // 3 - 1]


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_masks_know_which_results_leave_64_bits(name: str) -> None:
    fails = {"add": add_fails, "sub": subtract_fails, "mul": multiply_fails}[name]
    frame = pl.DataFrame({"value": VALUES})
    for known in VALUES:
        first, second, both = (
            frame.select(fails(pl.col("value"), known)),
            frame.select(fails(known, pl.col("value"))),
            frame.select(fails(pl.col("value"), pl.lit(known, pl.Int64))),
        )
        exact = [getattr(operator, name)(value, known) for value in VALUES]
        turned = [getattr(operator, name)(known, value) for value in VALUES]
        for mask, results in ((first, exact), (second, turned), (both, exact)):
            given = mask.to_series().to_list() * (len(VALUES) if mask.height == 1 else 1)
            assert given == [not INT_MIN <= result <= INT_MAX for result in results], known
