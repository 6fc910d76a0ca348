"""The examples of functions, one module for each family of `ghcm.functions`."""

from __future__ import annotations

from collections.abc import Mapping

from ghcm.manual.example import Example
from ghcm.manual.functions import (
    arithmetic,
    comparison,
    conversion,
    encodings,
    hashes,
    json,
    lists,
    logic,
    maps,
    network,
    patterns,
    strings,
    time,
)

__all__ = ["EXAMPLES"]

EXAMPLES: dict[str, Mapping[str, tuple[Example, ...]]] = {
    "arithmetic": arithmetic.EXAMPLES,
    "comparison": comparison.EXAMPLES,
    "logic": logic.EXAMPLES,
    "conversion": conversion.EXAMPLES,
    "strings": strings.EXAMPLES,
    "patterns": patterns.EXAMPLES,
    "encodings": encodings.EXAMPLES,
    "hashes": hashes.EXAMPLES,
    "lists": lists.EXAMPLES,
    "time": time.EXAMPLES,
    "network": network.EXAMPLES,
    "maps": maps.EXAMPLES,
    "json": json.EXAMPLES,
}
"""By family and name."""
