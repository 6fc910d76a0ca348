"""A case: one function on arguments of some types, and the hard values that they take.

Every engine runs every case. Arguments may be null; a constant stands where a value is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal as Number
from itertools import product

from ghcm.expr import Call, Expr, If, Literal
from ghcm.functions import FUNCTIONS, resolve
from ghcm.types import (
    INT_MAX,
    INT_MIN,
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Enumeration,
    Float,
    Int,
    Int32,
    List,
    Nullable,
    String,
    Timestamp,
    Type,
    as_nullable,
    tuple_of,
)

__all__ = ["PROTO", "VALUES", "Case", "argument_types", "call_of", "case", "result_of", "rows_of"]

PROTO = Enumeration(("tcp", "udp", "n/a", "", "\U0001f600", "\uffff", 'quo"te', "a'b"), "Proto")
NAN, INF = float("nan"), float("inf")


def _numbers(*texts: str) -> tuple[Number | None, ...]:
    return (*(Number(each) for text in texts for each in text.split()), None)


VALUES: dict[Type, Sequence[object]] = {
    Bool(): (True, False, None),
    Int(): (0, 1, -1, 2, -3, 7, 10, 63, INT_MAX, INT_MIN, INT_MAX - 1, 2**53 + 1, -(2**53) - 1, None),
    Int32(): (0, -1, 2**31 - 1, -(2**31), None),
    Float(): (0.0, -0.0, 1.0, -1.5, 0.1, 2.5, 1e+16, 1e+22, 2e+23, 5e-324, 1.7976931348623157e+308, 123456789.125, -7.0, 3.0, 9007199254740992.0, 1e-05, 0.0001, 9.5367431640625e-07, 9.223372036854775e+18, 9.3e+18, NAN, INF, -INF, None),
    String(): ("", " ", "a", "b", "ab", "aXbX", "A.b", "\t x \x0b", "😀", "éé", "ß", "İ", "ΑΣ", "ŉ", "\uffff", "\U0010ffff", "12", "+007", "-0", "9223372036854775808", "-9223372036854775808", "1_0", "١", "1.5", "-1e400", "1e-3", "nan", "NaN", "inf", "-inf", "Infinity", "0x1p3", "1d", "1.", "\\E", "a\nb", "a\x00b", "\xa0x\u2003", None),
    Decimal(10, 2): _numbers("0 0.01 -0.01 1.00 -1.50 12.30 0.50 2.55 -2.45 99999999.99 -99999999.99"),
    Decimal(38, 12): _numbers("0 1e-12 -1e-12 0.5 0.000001 12345678901234567890.123456789012 -1.5", "9" * 26 + "." + "9" * 12, "-" + "9" * 26 + "." + "9" * 12),
    Timestamp(): (0, -1, 1000000, 1767323045000006, -62135596800000000, 253402300799999999, INT_MAX, INT_MIN, None),
    Date(): (0, -1, 20_455, -719_162, 2_932_896, 2_932_897, -719_529, 2**31 - 1, -(2**31), None),
    Duration(): (0, 1, -1, 1_500_000, -3_600_000_000, 86_400_000_000, INT_MAX, INT_MIN, None),
    Bytes(): (b"", b"\x00", b"\xff", b"ab", None),
    PROTO: (*PROTO.values, None),
    List(Int()): ([], [1], [1, 2, 3], [INT_MAX, -1], None),
    List(Nullable(Int())): ([], [None], [1, None], [1, 2], None),
    List(String()): ([], [""], ["a", "😀"], ["b"], None),
    List(Float()): ([], [NAN], [-0.0, 1.0], None),
    tuple_of(Float(), Float()): ((1.0, 2.0), (1.0, 0.1), (-0.0, 2.5), (0.1, 1e16), (3.0, -7.0), (1e-05, 1e+300), (5e-324, -1.5), (NAN, 1.0), (1.0, -INF), None),
    tuple_of(Int(), String()): ((1, "a"), (1, "b"), (0, "z"), None),
    tuple_of(Nullable(Int()), String()): ((None, "a"), (1, "a"), (1, "b"), None),
    tuple_of(Nullable(Float()), String()): ((None, "a"), (NAN, "x"), (-0.0, "x"), None),
    tuple_of(Float(), Nullable(String())): ((1.5, None), (NAN, "x"), (0.0, "x"), None),
    tuple_of(Nullable(Float()), Nullable(String())): ((None, "a"), (NAN, None), (0.0, "x"), (-0.0, "x"), (None, None), None),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """One function on arguments of these types. The last arguments are `constants` where there are any; `values` are
    the hard values of the others, one sequence each, instead of those of their types.
    """

    function: str
    types: tuple[Type, ...]
    constants: tuple[object, ...] = ()
    values: tuple[Sequence[object], ...] = ()

    def __str__(self) -> str:
        constants = f" {self.constants!r}" if self.constants else ""
        return f"{self.function}({', '.join(map(str, self.types))}){constants}"


def case(
    function: str, *types: Type, constants: tuple[object, ...] = (), values: tuple[Sequence[object], ...] = ()
) -> Case:
    """A case; of three or more arguments without `values` few are taken of each."""
    return Case(function, types, constants, values)


def fields_of(case: Case) -> tuple[Type, ...]:
    """The types of the arguments that are no constants, nullable."""
    return tuple(map(as_nullable, case.types[: len(case.types) - len(case.constants)]))


def argument_types(case: Case) -> tuple[Type, ...]:
    """The types of all arguments as the call is resolved with them."""
    return (*fields_of(case), *case.types[len(case.types) - len(case.constants) :])


def result_of(case: Case) -> Type:
    """The type of the result."""
    resolution = resolve(FUNCTIONS[case.function], argument_types(case))
    assert resolution is not None, case
    return resolution.result


def rows_of(case: Case) -> Iterator[tuple[object, ...]]:
    """All combinations of the values of the arguments that are no constants."""
    types = case.types[: len(case.types) - len(case.constants)]
    values = list(case.values) or [VALUES[each] for each in types]
    if len(values) >= 3 and not case.values:
        values = [each[:: max(1, len(each) // 9)] for each in values]
    yield from product(*values)


def call_of(case: Case, given: Sequence[Expr]) -> Expr:
    """The call on these expressions."""
    if case.function == "known":
        known = Call("known", (given[0],), Int())
        return If(Call("is_null", (given[0],), Bool()), Literal(0, Int()), known, Int())
    types = case.types[len(given) :]
    constants = [Literal(each, type_) for each, type_ in zip(case.constants, types, strict=True)]
    return Call(case.function, (*given, *constants), result_of(case))
