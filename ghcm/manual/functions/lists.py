"""Examples of functions of lists."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.manual.example import Example

__all__ = ["EXAMPLES"]

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "get": (
        Example("get([10, 20], 1)", "20"),
        Example('get(map_of("a", 1), "b")', "null"),
        Example("get([10, 20], 2)", fails=Failure.OUT_OF_RANGE),
    ),
}
