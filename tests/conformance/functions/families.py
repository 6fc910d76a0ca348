"""All cases, by family of functions."""

from __future__ import annotations

from tests.conformance.functions import (
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
from tests.conformance.functions.case import Case

__all__ = ["FAMILY_CASES"]

FAMILY_CASES: dict[str, tuple[Case, ...]] = {
    "arithmetic": arithmetic.CASES,
    "comparison": comparison.CASES,
    "logic": logic.CASES,
    "conversion": conversion.CASES,
    "strings": strings.CASES,
    "patterns": patterns.CASES,
    "encodings": encodings.CASES,
    "hashes": hashes.CASES,
    "lists": lists.CASES,
    "maps": maps.CASES,
    "json": json.CASES,
    "time": time.CASES,
    "network": network.CASES,
}
