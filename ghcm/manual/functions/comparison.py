"""Examples of comparison."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.manual.example import Example

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "eq": (Example("1 == 1.0", "true"), Example('"a" == "A"', "false")),
    "ne": (Example("1 != 2", "true"),),
    "lt": (Example('"Z" < "a"', "true"),),
    "le": (Example("2 <= 2", "true"),),
    "gt": (Example("90s > 1m", "true"),),
    "ge": (Example("1 >= 2", "false"),),
    "least": (Example("min(3, 2)", "2"),),
    "greatest": (Example('max("a", "b")', '"b"'),),
    "ensure": (Example('ensure(1 < 2, "no")', "true"), Example('ensure(1 > 2, "too small")', fails=Failure.BAD_RECORD)),
}
