"""Examples of time."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.manual.example import Example

__all__ = ["EXAMPLES"]

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "truncate": (
        Example("truncate(from_micros(90000000), 1m)", '"1970-01-01T00:01:00.000000Z"'),
        Example("truncate(from_micros(0), 0s)", fails=Failure.ZERO_DIVISOR),
    ),
    "to_micros": (Example("to_micros(1500ms)", "1500000"),),
    "from_micros": (Example("from_micros(1)", '"1970-01-01T00:00:00.000001Z"'),),
}
