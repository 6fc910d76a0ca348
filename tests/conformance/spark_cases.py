"""Calls of every function on values that break engines: nulls, extremes, unicode, bad text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from ghcm.expr import Call, Expr, Get, If, Lambda, Literal, MakeList, MakeStruct, Var
from ghcm.functions import FUNCTIONS, resolve
from ghcm.source import Origin
from ghcm.spg.graph import Forward, Input, Parameter, Program, Task, Unit
from ghcm.spg.ops import Map, Memory, Op, Reply, Source, Union
from ghcm.types import (
    INT_MAX,
    INT_MIN,
    Bool,
    Bytes,
    Collection,
    Date,
    Duration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Nullable,
    Shape,
    String,
    Struct,
    Timestamp,
    Type,
    as_nullable,
    strip,
    tuple_of,
)

__all__ = [
    "CASES",
    "ORIGIN",
    "VALUES",
    "Case",
    "batch_unit",
    "cases_by_result",
    "memory",
    "program_of",
    "stream",
    "task",
]

ORIGIN = Origin("cases.istream", 1, 1)
NAN, INF = float("nan"), float("inf")

VALUES: dict[Type, Sequence[object]] = {
    Bool(): (True, False, None),
    Int(): (0, 1, -1, 2, -3, 7, 10, 63, INT_MAX, INT_MIN, INT_MAX - 1, 2**53 + 1, -(2**53) - 1, None),
    Int32(): (0, -1, 2**31 - 1, -(2**31), None),
    Float(): (0.0, -0.0, 1.0, -1.5, 0.1, 2.5, 1e+16, 1e+22, 2e+23, 5e-324, 1.7976931348623157e+308, 123456789.125, -7.0, 3.0, 9007199254740992.0, 1e-05, 0.0001, 9.5367431640625e-07, 9.223372036854775e+18, 9.3e+18, NAN, INF, -INF, None),
    String(): ("", " ", "a", "b", "ab", "aXbX", "A.b", "\t x \x0b", "😀", "éé", "ß", "İ", "ΑΣ", "ŉ", "\uffff", "\U0010ffff", "12", "+007", "-0", "9223372036854775808", "-9223372036854775808", "1_0", "١", "1.5", "-1e400", "1e-3", "nan", "NaN", "inf", "-inf", "Infinity", "0x1p3", "1d", "1.", "\\E", "a\nb", "a\x00b", "\xa0x\u2003", None),
    Timestamp(): (0, -1, 1000000, 1767323045000006, -62135596800000000, 253402300799999999, INT_MAX, INT_MIN, None),
    Date(): (0, -1, 20_455, -719_162, 2_932_896, 2_932_897, -719_529, None),
    Duration(): (0, 1, -1, 1_500_000, -3_600_000_000, 86_400_000_000, INT_MAX, INT_MIN, None),
    Bytes(): (b"", b"\x00", b"\xff", b"ab", None),
    List(Int()): ([], [1], [1, 2, 3], [INT_MAX, -1], None),
    List(Nullable(Int())): ([], [None], [1, None], [1, 2], None),
    List(String()): ([], [""], ["a", "😀"], ["b"], None),
    List(Float()): ([], [NAN], [-0.0, 1.0], None),
    tuple_of(Int(), String()): ((1, "a"), (1, "b"), (0, "z"), None),
    tuple_of(Nullable(Float()), Nullable(String())): ((None, "a"), (NAN, None), (0.0, "x"), (-0.0, "x"), (None, None), None),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """One function on arguments of these types; constants stand where a value is given."""

    function: str
    types: tuple[Type, ...]
    constants: tuple[object, ...] = ()


def _c(function: str, *types: Type, constants: tuple[object, ...] = ()) -> Case:
    return Case(function, types, constants)


_I, _F, _S, _B, _T, _D = Int(), Float(), String(), Bool(), Timestamp(), Duration()
_COMPARED = (_B, _I, _F, _S, _T, Date(), _D, Bytes(), List(_I), List(Nullable(_I)), List(_F))
_STRUCTS = (tuple_of(_I, _S), tuple_of(Nullable(_F), Nullable(_S)))

CASES: tuple[Case, ...] = (
    *(_c(name, type_, type_) for name in ("add", "sub", "mul", "floordiv", "mod") for type_ in (_I, _F)),
    _c("add", _S, _S), _c("add", _T, _D), _c("add", _D, _D),
    _c("sub", _T, _D), _c("sub", _T, _T), _c("sub", _D, _D),
    _c("mul", _D, _I), _c("floordiv", _D, _D), _c("div", _F, _F),
    *(_c(name, type_) for name in ("neg", "abs") for type_ in (_I, _F, _D)),
    *(_c(name, type_, type_) for name in ("eq", "ne", "lt", "le", "gt", "ge") for type_ in (*_COMPARED, *_STRUCTS)),
    *(_c(name, type_, type_) for name in ("least", "greatest") for type_ in (_B, _I, _F, _S, _T, List(_I), _STRUCTS[1])),
    _c("and", _B, _B), _c("or", _B, _B), _c("not", _B),
    *(_c(name, type_) for name in ("is_null", "is_not_null") for type_ in (_I, _S, _STRUCTS[0])),
    _c("coalesce", _I, _I), _c("coalesce", _S, _S),
    _c("known", _I), _c("widen", Int32()),
    *(_c("to_int", type_) for type_ in (_I, _F, _S, _B)), *(_c("to_float", type_) for type_ in (_F, _S, _I)),
    *(_c("to_string", type_) for type_ in (_B, _I, Int32(), _F, _S, _T, Date(), _D)),
    _c("length", _S), _c("length", List(_I)), _c("lower", _S), _c("upper", _S), _c("trim", _S),
    *(_c(name, _S, _S) for name in ("starts_with", "ends_with", "contains", "split")),
    _c("contains", List(_I), _I), _c("contains", List(_S), _S), _c("contains", List(_F), _F),
    _c("replace", _S, _S, _S), _c("substring", _S, _I, _I),
    *(_c("matches", _S, _S, constants=(pattern,)) for pattern in ("b", "^[0-9]+$", "(?:a|X)", "[^a-z]", "^$", "a$")),
    *(_c("extract_all", _S, _S, constants=(pattern,)) for pattern in ("[A-Za-z]", "[0-9]+", "X", "(?:aX)+")),
    _c("get", List(_I), _I), _c("get", List(Nullable(_I)), _I), _c("get", List(_S), _I),
    _c("truncate", _T, _D), _c("to_micros", _T), _c("to_micros", _D), _c("from_micros", _I),
)  # fmt: skip


def cases_by_result() -> dict[str, list[tuple[list[Case], Type]]]:
    """The cases by the text of their result type; those that cannot fail share the rows of their arguments."""
    found: dict[str, dict[object, tuple[list[Case], Type]]] = {}
    for number, case in enumerate(CASES):
        resolution = resolve(FUNCTIONS[case.function], _arguments(case))
        assert resolution is not None, case
        function, result = FUNCTIONS[case.function], strip(resolution.result)
        shared = case.types if not function.failures and not case.constants and case.function != "known" else number
        found.setdefault(str(result), {}).setdefault(shared, ([], result))[0].append(case)
    return {text: list(groups.values()) for text, groups in found.items()}


def _arguments(case: Case) -> tuple[Type, ...]:
    constants = len(case.constants)
    count = len(case.types) - constants
    return tuple(as_nullable(each) if place < count else each for place, each in enumerate(case.types))


def rows_of(case: Case) -> Iterator[tuple[object, ...]]:
    """All combinations of the values of the arguments that are no constants, but few of three."""
    types = case.types[: len(case.types) - len(case.constants)]
    values = [VALUES[each] for each in types]
    if len(values) == 3:
        values = [each[:: max(1, len(each) // 9)] for each in values]
    yield from product(*values)


def memory(id: str, element: Type, rows: Sequence[tuple[object, ...]]) -> Task:
    """A source of these rows."""
    return task(id, Source(Memory(tuple(rows))), (), element)


def task(
    id: str,
    op: Op,
    inputs: Sequence[str],
    element: Type,
    *,
    shape: Shape = Shape.STREAM,
    timed: bool = False,
    windowed: bool = False,
) -> Task:
    """A task with forward edges."""
    edges = tuple(Input(each, Forward()) for each in inputs)
    return Task(id, op, edges, Collection(shape, element, True, timed, windowed), ORIGIN)


def stream(field_types: dict[str, Type], name: str | None = None) -> Struct:
    """A record type."""
    return Struct(tuple(Field(each, type_) for each, type_ in field_types.items()), name)


def program_of(*units: Unit, **more: object) -> Program:
    """A program of these units."""
    return Program("cases", (), tuple(more.get("sinks", ())), units)  # type: ignore[arg-type]


def batch_unit(name: str, tasks: Sequence[Task], parameters: Sequence[Parameter] = ()) -> Unit:
    """A responsive batch unit."""
    return Unit(name, "batch", True, tuple(parameters), None, tuple(tasks), ORIGIN)


def function_unit(name: str, groups: Sequence[tuple[list[Case], Type]]) -> Unit:
    """A unit that replies with (group, row, results) for all of these cases, whose results have one type."""
    tasks: list[Task] = []
    gives = stream({"group": Int(), "row": Int(), "values": List(Nullable(groups[0][1]))})
    for number, (cases, _) in enumerate(groups):
        tasks += _case_tasks(number, cases, gives)
    inputs = [f"map{number}" for number in range(len(groups))]
    tasks += [task("all", Union(), inputs, gives), task("reply", Reply(), ["all"], gives)]
    return batch_unit(name, tasks)


def _case_tasks(number: int, cases: list[Case], gives: Struct) -> list[Task]:
    arguments = _arguments(cases[0])
    fields = arguments[: len(arguments) - len(cases[0].constants)]
    element = stream({"row": Int()} | {f"a{place}": each for place, each in enumerate(fields)})
    rows = [(row, *values) for row, values in enumerate(rows_of(cases[0]))]
    var = Var("r", element)
    given = [Get(var, f"a{place}", each) for place, each in enumerate(fields)]
    values = MakeList(tuple(_call(case, given, fields) for case in cases), gives.fields[2].type)
    body = MakeStruct((Literal(number, Int()), Get(var, "row", Int()), values), gives)
    return [
        memory(f"rows{number}", element, rows),
        task(f"map{number}", Map(Lambda((var,), body)), [f"rows{number}"], gives),
    ]


def _call(case: Case, given: Sequence[Expr], fields: tuple[Type, ...]) -> Expr:
    if case.function == "known":
        known = Call("known", (given[0],), Int())
        return If(Call("is_null", (given[0],), Bool()), Literal(0, Int()), known, Int())
    resolution = resolve(FUNCTIONS[case.function], _arguments(case))
    assert resolution is not None
    constants = [Literal(each, type_) for each, type_ in zip(case.constants, case.types[len(fields) :], strict=True)]
    return Call(case.function, (*given, *constants), resolution.result)
