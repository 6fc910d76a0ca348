"""Cases of arithmetic."""

from __future__ import annotations

from ghcm.signatures import DURATION, FLOAT, INT, STRING, TIMESTAMP
from ghcm.types import List, Nullable, tuple_of
from tests.conformance.functions.case import Case, case

__all__ = ["CASES"]

RECORD = tuple_of(INT, STRING)
RECORDS: tuple[list[tuple[int, str]] | None, ...] = ([], [(1, "a")], [(2, ""), (1, "b")], None)
DIVIDED: tuple[float | None, ...] = (*(each * 0.7 for each in range(40)), None)

CASES: tuple[Case, ...] = (
    *(case(name, type_, type_) for name in ("add", "sub", "mul", "floordiv", "mod") for type_ in (INT, FLOAT)),
    *(case("add", List(type_), List(type_)) for type_ in (INT, Nullable(INT), FLOAT, STRING)),
    case("add", List(RECORD), List(RECORD), values=(RECORDS, RECORDS)),
    case("add", STRING, STRING), case("add", TIMESTAMP, DURATION), case("add", DURATION, DURATION),
    case("sub", TIMESTAMP, DURATION), case("sub", TIMESTAMP, TIMESTAMP), case("sub", DURATION, DURATION),
    case("mul", DURATION, INT), case("floordiv", DURATION, DURATION), case("div", DURATION, DURATION), case("div", FLOAT, FLOAT),
    *(case("div", FLOAT, FLOAT, constants=(by,), values=(DIVIDED,)) for by in (3.0, 0.1, 1e6, -7.0)),
    *(case(name, type_) for name in ("neg", "abs") for type_ in (INT, FLOAT, DURATION)),
)  # fmt: skip
