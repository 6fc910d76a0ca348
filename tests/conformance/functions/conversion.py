"""Cases of conversion."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal as Number

from ghcm.signatures import BOOL, DURATION, FLOAT, INT, STRING, TIMESTAMP
from ghcm.types import Date, Decimal, Int32, List, Type
from tests.conformance.functions.case import PROTO, VALUES, Case, case

__all__ = ["CASES"]

SMALL, LARGE, NARROW, FINE = Decimal(10, 2), Decimal(38, 12), Decimal(3, 1), Decimal(24, 22)
TEXTS = (
    *VALUES[STRING], "1.50", "-0.00", "12.30", "12.345", "+0012.30000", "99999999.99", "100000000", "-100000000.001", "1e2",
    ".5", "0.0000000000010", "1" * 26, "1" * 27, "0" * 90 + "1.5" + "0" * 90, "9" * 90, "0." + "0" * 50 + "1", "1.2.3",
)  # fmt: skip
DIGITS = VALUES[LARGE]
FINER = tuple(None if each is None else each.scaleb(-10) for each in (Number(5), Number(-7), Number("123"), None))


def to_decimal(of: Type, to: Decimal, values: Sequence[object] = ()) -> Case:
    """A case of `to_decimal`."""
    return case("to_decimal", of, List(to), constants=([],), values=(values or VALUES[of],))


CASES: tuple[Case, ...] = (
    case("widen", Int32()), *(case("to_int", type_) for type_ in (INT, FLOAT, STRING, BOOL)),
    *(case("to_float", type_) for type_ in (FLOAT, STRING, INT)),
    case("to_enum", STRING, List(PROTO), constants=(list(PROTO.values),), values=((*VALUES[STRING], *PROTO.values),)),
    *(case(name, type_) for name in ("to_int", "to_string") for type_ in (SMALL, LARGE)),
    case("to_float", SMALL), case("to_float", LARGE), case("to_float", FINE, values=(FINER,)),
    case("to_float", Decimal(38, 38), values=((Number("0.1"), Number("1e-38"), Number("0." + "3" * 38), None),)),
    case("to_string", Decimal(5, 0), values=((Number(0), Number(-12), Number(99999), None),)),
    case("to_string", Decimal(38, 38), values=((Number(0), Number("-1e-38"), Number("0." + "3" * 38), None),)),
    *(to_decimal(INT, to) for to in (SMALL, LARGE, NARROW, Decimal(19, 0), Decimal(38, 19), Decimal(38, 38))),
    *(to_decimal(STRING, to, TEXTS) for to in (SMALL, LARGE, NARROW, Decimal(38, 38), Decimal(38, 0))),
    *(to_decimal(SMALL, to) for to in (SMALL, Decimal(12, 4), NARROW, Decimal(10, 0), Decimal(9, 2), Decimal(38, 38))),
    *(to_decimal(LARGE, to) for to in (SMALL, NARROW, Decimal(38, 0), Decimal(38, 11), Decimal(38, 38), Decimal(37, 12))),
    *(case("to_string", type_) for type_ in (PROTO, BOOL, INT, Int32(), FLOAT, STRING, TIMESTAMP, Date(), DURATION)),
)  # fmt: skip
