"""Cases of comparison."""

from __future__ import annotations

from ghcm.signatures import BOOL, DURATION, FLOAT, INT, STRING, TIMESTAMP
from ghcm.types import Bytes, Date, Decimal, List, Nullable, tuple_of
from tests.conformance.functions.case import PROTO, Case, case

__all__ = ["CASES"]

COMPARED = (
    BOOL,
    INT,
    FLOAT,
    STRING,
    TIMESTAMP,
    Date(),
    DURATION,
    Bytes(),
    Decimal(10, 2),
    Decimal(38, 12),
    List(INT),
    List(Nullable(INT)),
    List(FLOAT),
    PROTO,
)
MIXED = (
    (List(INT), List(Nullable(INT))),
    (List(Nullable(INT)), List(INT)),
    (tuple_of(INT, STRING), tuple_of(Nullable(INT), STRING)),
    (tuple_of(Nullable(FLOAT), STRING), tuple_of(FLOAT, Nullable(STRING))),
)
STRUCTS = (tuple_of(INT, STRING), tuple_of(Nullable(FLOAT), Nullable(STRING)))

CASES: tuple[Case, ...] = (
    case("ensure", BOOL, STRING, constants=("it's \"wrong\"",)),
    *(case(name, type_, type_) for name in ("eq", "same", "ne", "lt", "le", "gt", "ge") for type_ in (*COMPARED, *STRUCTS)),
    *(case(name, type_, type_) for name in ("least", "greatest") for type_ in (BOOL, INT, FLOAT, STRING, PROTO, TIMESTAMP, Decimal(38, 12), List(INT), STRUCTS[1])),
    *(case(name, *types) for name in ("eq", "same", "ne", "lt", "le", "gt", "ge", "least", "greatest") for types in MIXED),
)  # fmt: skip
