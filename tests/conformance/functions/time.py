"""Cases of time."""

from __future__ import annotations

from ghcm.signatures import DURATION, INT, TIMESTAMP
from tests.conformance.functions.case import Case, case

__all__ = ["CASES"]

CASES: tuple[Case, ...] = (
    case("truncate", TIMESTAMP, DURATION), case("to_micros", TIMESTAMP), case("to_micros", DURATION), case("from_micros", INT),
)  # fmt: skip
