"""Cases of conversion."""

from __future__ import annotations

from ghcm.signatures import BOOL, DURATION, FLOAT, INT, STRING, TIMESTAMP
from ghcm.types import Date, Int32, List
from tests.conformance.functions.case import PROTO, VALUES, Case, case

__all__ = ["CASES"]

CASES: tuple[Case, ...] = (
    case("widen", Int32()), *(case("to_int", type_) for type_ in (INT, FLOAT, STRING, BOOL)),
    *(case("to_float", type_) for type_ in (FLOAT, STRING, INT)),
    case("to_enum", STRING, List(PROTO), constants=(list(PROTO.values),), values=((*VALUES[STRING], *PROTO.values),)),
    *(case("to_string", type_) for type_ in (PROTO, BOOL, INT, Int32(), FLOAT, STRING, TIMESTAMP, Date(), DURATION)),
)  # fmt: skip
