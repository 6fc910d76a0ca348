"""Examples of functions of lists."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.manual.example import Example

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "get": (
        Example("get([10, 20], 1)", "20"),
        Example('get(map_of("a", 1), "b")', "null"),
        Example("[10, 20][-1]", "20"),
        Example('"a,b,c".split(",")[-2]', '"b"'),
        Example("[10, 20, 30][1 - 3]", "20"),
        Example("[10][-2]", fails=Failure.OUT_OF_RANGE),
        Example("get([10, 20], 2)", fails=Failure.OUT_OF_RANGE),
    ),
    "list_sum": (
        Example("[1, 2, 3].sum()", "6"),
        Example("[1, 2, 3].sum(x => x * 2)", "12"),
        Example("[9223372036854775807, 1].sum()", fails=Failure.OVERFLOW),
    ),
    "list_mean": (Example("[1, 2].mean()", "1.5"),),
    "list_min": (
        Example('["b", "a"].min()', '"a"'),
        Example('["bb", "a"].min(x => length(x))', "1"),
    ),
    "list_max": (Example("[1.5, 2.5].max()", "2.5"),),
    "list_sort": (
        Example("[2, 3, 1].sort()", "[1, 2, 3]"),
        Example("[2, null, 1].sort(descending = true)", "[2, 1, null]"),
    ),
    "list_sort_by": (
        Example('["ccc", "a", "bb"].sort(by = x => length(x))', '["a", "bb", "ccc"]'),
        Example('["a", "bb", "c"].sort(by = x => length(x), descending = true)', '["bb", "a", "c"]'),
    ),
    "list_distinct": (Example("[2, 1, 2].distinct()", "[2, 1]"),),
}
