"""Examples of functions of maps."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.manual.example import Example

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "map_at": (
        Example('map_of("a", 1, "b", 2)["b"]', "2"),
        Example('map_of("a", 1)["b"]', fails=Failure.OUT_OF_RANGE),
    ),
    "has_key": (Example('has_key(map_of("a", 1, "b", 2), "b")', "true"),),
    "keys": (Example('keys(map_of("b", 2, "a", 1))', '["a", "b"]'),),
    "values": (Example('values(map_of("b", 2, "a", 1))', "[1, 2]"),),
    "entries": (Example('entries(map_of("a", 1))', '[{"key": "a", "value": 1}]'),),
    "from_entries": (
        Example('map_of("a", 1, "b", 2)', '{"a": 1, "b": 2}'),
        Example('from_entries([{ key: "a", value: 1 }])', '{"a": 1}'),
    ),
}
