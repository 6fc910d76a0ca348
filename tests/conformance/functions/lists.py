"""Cases of lists."""

from __future__ import annotations

from decimal import Decimal as Number

from ghcm.signatures import BOOL, DURATION, FLOAT, INT, STRING, TIMESTAMP
from ghcm.types import INT_MAX, INT_MIN, Bytes, Date, Decimal, Int32, List, Map, Nullable, Type, pair_of, tuple_of
from tests.conformance.functions.case import INF, NAN, Case, case
from tests.conformance.functions.maps import KEYED, MAPS

__all__ = ["CASES"]

NINES = Number("9" * 25 + ".999")
DECIMALS: tuple[Type, ...] = (List(Decimal(28, 3)), List(Nullable(Decimal(5, 2))))

LISTS: dict[Type, tuple[object, ...]] = {
    List(INT): (
        [],
        [1],
        [3, 1, 2, 1],
        [INT_MAX, -1],
        [INT_MAX, INT_MAX, INT_MIN],
        [INT_MAX, 1],
        [INT_MIN, -1],
        [INT_MAX] * 5 + [INT_MIN] * 5,
        None,
    ),
    List(Nullable(INT)): ([], [None], [None, None], [1, None, -5, None, 1], [INT_MAX, None, 1], None),
    List(Int32()): ([], [2**31 - 1, 2**31 - 1], [-1, 0, -(2**31)], None),
    List(FLOAT): (
        [],
        [NAN],
        [1.0, NAN, -INF, NAN],
        [INF, -INF],
        [-0.0, 0.0, 1.0, -0.0],
        [0.5, 0.25, -4.0],
        [1.7976931348623157e308] * 2,
        [5e-324, 5e-324],
        None,
    ),
    List(Nullable(FLOAT)): ([], [None], [None, 2.5, None, NAN, 2.5], [INF, None, 1.0], None),
    List(Decimal(28, 3)): ([], [NINES] * 3, [NINES, Number("-0.001")], [Number("-1.500"), Number("0.000")], None),
    List(Nullable(Decimal(5, 2))): ([], [None], [None, Number("1.50"), None, Number("-999.99")], None),
    List(DURATION): ([], [1_500_000, -1, 7], [INT_MAX, 1], [INT_MIN, INT_MAX], None),
    List(STRING): ([], [""], ["b", "a", "😀", "\uffff", "a", "é", "B"], None),
    List(Nullable(STRING)): ([None, "x", None, ""], [None], [], None),
    List(TIMESTAMP): ([], [5, -7, 5, 253402300799999999], None),
    List(Date()): ([], [20_455, -1, 20_455], None),
    List(BOOL): ([], [True, False, True], [False], None),
    List(Bytes()): ([], [b"\xff", b"", b"\x00", b"\xff"], None),
    List(List(Nullable(INT))): ([], [[2], [1, None], [1], [], [2], [1, 5]], None),
    List(tuple_of(Nullable(FLOAT), STRING)): (
        [],
        [(NAN, "a"), (None, "b"), (1.0, "b"), (NAN, "a"), (0.0, "a"), (-0.0, "a")],
        None,
    ),
}
"""Lists with what is hard to add, compare and tell apart."""

KEYED_ENTRIES: dict[Type, tuple[object, ...]] = {
    List(pair_of(INT, STRING)): ([], [(2, "a"), (1, "b"), (2, "c"), (1, "d")], None),
    List(pair_of(Nullable(FLOAT), Nullable(INT))): (
        [(None, 1), (NAN, 2), (-0.0, 3), (0.0, None), (None, 5), (-INF, 6), (NAN, 7)],
        [],
        None,
    ),
    List(pair_of(tuple_of(STRING, INT), Map(STRING, INT))): (
        [(("b", 1), {"x": 1}), (("a", 2), {}), (("a", 1), {"y": 2}), (("a", 2), {"z": 0})],
        None,
    ),
}

NUMBERS = (List(INT), List(Nullable(INT)), List(Int32()), List(FLOAT), List(Nullable(FLOAT)))
MEANS: dict[Type, tuple[object, ...]] = {
    **{type_: LISTS[type_] for type_ in (List(Int32()), List(Nullable(FLOAT)))},
    List(FLOAT): ([], [NAN], [INF, -INF], [0.5, 0.25, -4.0], [5e-324, 5e-324], None),
    List(INT): ([], [1], [1, 2], [3, -1, 5], [INT_MAX, INT_MAX], [INT_MAX] * 4 + [INT_MIN] * 4, None),
    List(Nullable(INT)): ([None], [None, 1, None, 4], [], None),
}

CASES: tuple[Case, ...] = (
    case("range", INT, values=((-2, 0, 1, 3, 1_000_001, INT_MAX, INT_MIN, None),)),
    case("get", List(INT), INT), case("get", List(Nullable(INT)), INT), case("get", List(STRING), INT),
    *(case("get", type_, type_.key, values=(MAPS[type_], KEYED[type_])) for type_ in MAPS if isinstance(type_, Map)),
    *(case("list_sum", type_, values=(LISTS[type_],)) for type_ in (*NUMBERS, List(DURATION), *DECIMALS)),
    *(case("list_mean", type_, values=(values,)) for type_, values in MEANS.items()),
    *(case(name, type_, values=(LISTS[type_],)) for name in ("list_min", "list_max", "list_distinct") for type_ in LISTS),
    *(case("indexed", type_, values=(LISTS[type_],)) for type_ in LISTS),
    *(case("zip", one, two, values=(LISTS[one], LISTS[two])) for one, two in zip(LISTS, [*LISTS][5:], strict=False)),
    *(case("list_sort", type_, BOOL, constants=(down,), values=(LISTS[type_],)) for down in (False, True) for type_ in LISTS),
    *(case("list_sort_by", type_, BOOL, constants=(down,), values=(values,)) for down in (False, True) for type_, values in KEYED_ENTRIES.items()),
)  # fmt: skip
