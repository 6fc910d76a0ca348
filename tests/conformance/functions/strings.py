"""Cases of strings."""

from __future__ import annotations

from ghcm.signatures import FLOAT, INT, STRING
from ghcm.types import List
from tests.conformance.functions.case import Case, case

__all__ = ["CASES"]

CASES: tuple[Case, ...] = (
    case("length", STRING), case("length", List(INT)), case("lower", STRING), case("upper", STRING), case("trim", STRING),
    *(case(name, STRING, STRING) for name in ("starts_with", "ends_with", "contains", "split")),
    case("contains", List(INT), INT), case("contains", List(STRING), STRING), case("contains", List(FLOAT), FLOAT),
    case("replace", STRING, STRING, STRING), case("substring", STRING, INT, INT),
)  # fmt: skip
