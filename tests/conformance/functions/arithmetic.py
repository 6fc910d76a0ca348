"""Cases of arithmetic."""

from __future__ import annotations

from decimal import Decimal as Number

from ghcm.functions.arithmetic import quotient_of
from ghcm.signatures import DURATION, FLOAT, INT, STRING, TIMESTAMP
from ghcm.spg.rules.checks import is_value
from ghcm.types import Decimal, List, Nullable, tuple_of
from tests.conformance.functions.case import Case, case

__all__ = ["CASES"]

RECORD = tuple_of(INT, STRING)
RECORDS: tuple[list[tuple[int, str]] | None, ...] = ([], [(1, "a")], [(2, ""), (1, "b")], None)
DIVIDED: tuple[float | None, ...] = (*(each * 0.7 for each in range(40)), 255.0, 1.1, 1e300, None)

TAME: tuple[float | None, ...] = (
    *(each * 0.37 for each in range(-8, 9)),
    -745.2,
    709.7,
    709.8,
    1e-310,
    4.0,
    -3.0,
    None,
)

DECIMALS = (Decimal(10, 2), Decimal(38, 12))


def hard(type_: Decimal) -> tuple[Number | None, ...]:
    """Numbers of the type around zero and at its ends."""
    behind = type_.scale
    unit, most = Number(1).scaleb(-behind), Number((0, (9,) * type_.precision, -behind))
    few = [Number(text) for text in ("0.1", "1.5", "-2.5", "7", "-0.0005") if is_value(Number(text), type_)]
    return (Number(0).scaleb(-behind), unit, unit.copy_negate(), 5 * unit, most, most.copy_negate(), *few, None)


PAIRS = tuple(
    (Decimal(*one), Decimal(*two))
    for one, two in (
        ((10, 2), (10, 2)), ((10, 2), (6, 4)), ((6, 4), (19, 0)), ((19, 10), (19, 9)), ((5, 5), (12, 0)), ((37, 3), (1, 0)),
    )
)  # fmt: skip
ROUNDED = tuple(
    (Decimal(*of), Decimal(*to))
    for of, to in (((10, 2), (9, 0)), ((10, 4), (9, 2)), ((38, 38), (38, 37)), ((38, 12), (27, 0)), ((3, 3), (2, 1)))
)
QUOTIENTS = tuple(
    (Decimal(*one), Decimal(*two), scale)
    for one, two, scale in (
        ((10, 2), (10, 2), 4), ((10, 2), (19, 0), 0), ((27, 9), (3, 3), 2), ((6, 4), (5, 0), 12), ((12, 6), (30, 2), 1),
    )
)  # fmt: skip
_ALL = (
    *(each for pair in PAIRS for each in pair),
    *(of for of, _ in ROUNDED),
    *(of for *two, _ in QUOTIENTS for of in two),
)
DIGITS = {type_: hard(type_) for type_ in _ALL}

CASES: tuple[Case, ...] = (
    *(case(name, type_, type_) for name in ("add", "sub", "mul", "floordiv", "mod") for type_ in (INT, FLOAT)),
    *(case("add", List(type_), List(type_)) for type_ in (INT, Nullable(INT), FLOAT, STRING)),
    case("add", List(RECORD), List(RECORD), values=(RECORDS, RECORDS)),
    case("add", STRING, STRING), case("add", TIMESTAMP, DURATION), case("add", DURATION, DURATION),
    case("sub", TIMESTAMP, DURATION), case("sub", TIMESTAMP, TIMESTAMP), case("sub", DURATION, DURATION),
    case("mul", DURATION, INT), case("floordiv", DURATION, DURATION), case("div", DURATION, DURATION), case("div", FLOAT, FLOAT),
    *(case("div", FLOAT, FLOAT, constants=(by,), values=(DIVIDED,)) for by in (3.0, 0.1, 1e6, -7.0, 100.0)),
    *(case(name, FLOAT) for name in ("floor", "ceil", "round", "sqrt", "exp", "log", "log10")), *(case(name, FLOAT, values=(TAME,)) for name in ("exp", "log", "log10")),
    case("pow", FLOAT, FLOAT), case("pow", FLOAT, FLOAT, values=(TAME, TAME)), case("round", FLOAT, values=((0.5, 1.5, -0.5, -2.5, 0.49999999999999994, 4503599627370497.5, None),)),
    *(case(name, type_) for name in ("neg", "abs") for type_ in (INT, FLOAT, DURATION, *DECIMALS)),
    *(case(name, one, two, values=(DIGITS[one], DIGITS[two])) for name in ("add", "sub", "mul") for one, two in PAIRS),
    *(
        case("quotient", one, two, List(to), constants=([],), values=(DIGITS[one], DIGITS[two]))
        for one, two, scale in QUOTIENTS if (to := quotient_of(one, two, scale)) is not None
    ),
    *(case("round_half_up", of, List(to), constants=([],), values=(DIGITS[of],)) for of, to in ROUNDED),
)  # fmt: skip
