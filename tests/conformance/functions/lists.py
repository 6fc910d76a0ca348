"""Cases of lists."""

from __future__ import annotations

from ghcm.signatures import INT, STRING
from ghcm.types import List, Nullable
from tests.conformance.functions.case import Case, case

__all__ = ["CASES"]

CASES: tuple[Case, ...] = (
    case("get", List(INT), INT), case("get", List(Nullable(INT)), INT), case("get", List(STRING), INT),
)  # fmt: skip
