"""Cases of three-valued logic and nulls."""

from __future__ import annotations

from ghcm.signatures import BOOL, INT, STRING
from ghcm.types import tuple_of
from tests.conformance.functions.case import Case, case

__all__ = ["CASES"]

CASES: tuple[Case, ...] = (
    case("and", BOOL, BOOL), case("or", BOOL, BOOL), case("not", BOOL),
    *(case(name, type_) for name in ("is_null", "is_not_null") for type_ in (INT, STRING, tuple_of(INT, STRING))),
    case("coalesce", INT, INT), case("coalesce", STRING, STRING), case("known", INT),
)  # fmt: skip
