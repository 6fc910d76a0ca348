"""Programs that call functions: one task for each case, or for the cases that take the same values and cannot fail."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

from ghcm import types
from ghcm.expr import Call, Expr, Get, Lambda, Literal, MakeList, MakeStruct, Var
from ghcm.functions import FUNCTIONS
from ghcm.source import Origin
from ghcm.spg.connectors import Memory
from ghcm.spg.graph import Forward, Input, Parameter, Program, Task, Unit
from ghcm.spg.ops import Map, Op, Reply, Source, Union
from ghcm.types import Collection, Field, Int, List, Nullable, Shape, String, Struct, Type, strip
from tests.conformance.functions.case import Case, call_of, fields_of, result_of, rows_of

__all__ = [
    "ORIGIN",
    "batch_unit",
    "case_program",
    "constant_program",
    "failing_program",
    "family_program",
    "grouped",
    "memory",
    "program_of",
    "stream",
    "task",
]

ORIGIN = Origin("cases.istream", 1, 1)


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


def case_program(case: Case, rows: Sequence[tuple[object, ...]]) -> Program:
    """A unit that replies with (row, value) for the rows that do not fail."""
    element = _element(case)
    var = Var("r", element)
    gives = stream({"row": Int(), "value": result_of(case)})
    body = MakeStruct((Get(var, "row", Int()), call_of(case, _given(var, case))), gives)
    numbered = [(row, *values) for row, values in enumerate(rows)]
    tasks = [
        memory("rows", element, numbered),
        task("made", Map(Lambda((var,), body)), ["rows"], gives),
        task("reply", Reply(), ["made"], gives),
    ]
    return program_of(batch_unit("functions", tasks))


def constant_program(case: Case, places: Sequence[int], rows: Sequence[tuple[object, ...]]) -> Program:
    """A unit that replies with the values of these rows, which have the same arguments at some places: as constants."""
    element = _element(case)
    var = Var("r", element)
    given = _given(var, case)
    for place in places:
        given[place] = Literal(rows[0][place] if rows else None, fields_of(case)[place])
    gives = stream({"value": result_of(case)})
    body = MakeStruct((call_of(case, given),), gives)
    tasks = [
        memory("rows", element, [(row, *values) for row, values in enumerate(rows)]),
        task("made", Map(Lambda((var,), body)), ["rows"], gives),
        task("reply", Reply(), ["made"], gives),
    ]
    return program_of(batch_unit("functions", tasks))


def failing_program(case: Case, row: Sequence[object]) -> Program:
    """A unit that calls the function once with arguments that all fail, each for another reason."""
    element = _element(case)
    gives = stream({"value": result_of(case)})
    no_number = Call("to_int", (Literal("x", String()),), Int())
    divided = Call("floordiv", (Literal(1, Int()), Literal(0, Int())), Int())
    keys: tuple[Expr, ...] = (Literal(1, Int()), no_number, divided)
    given = [
        Call("map_at", (Literal({}, types.Map(Int(), strip(type_))), key), strip(type_))
        for key, type_ in zip(cycle(keys), fields_of(case), strict=False)
    ]
    body = MakeStruct((call_of(case, given),), gives)
    tasks = [
        memory("rows", element, [(0, *row)]),
        task("made", Map(Lambda((Var("r", element),), body)), ["rows"], gives),
        task("reply", Reply(), ["made"], gives),
    ]
    return program_of(batch_unit("functions", tasks))


def family_program(cases: Sequence[Case]) -> Program:
    """A unit that replies with (group, row, a list of results for each type of result) for all of these cases."""
    groups = grouped(cases)
    results = list(dict.fromkeys(strip(result_of(each[0])) for each in groups))
    names = {result: f"values{place}" for place, result in enumerate(results)}
    lists = {name: Nullable(List(Nullable(result))) for result, name in names.items()}
    gives = stream({"group": Int(), "row": Int(), **lists})
    tasks: list[Task] = []
    for number, group in enumerate(groups):
        element = _element(group[0])
        var = Var("r", element)
        mine = names[strip(result_of(group[0]))]
        values = [
            MakeList(tuple(call_of(each, _given(var, each)) for each in group), strip(type_))
            if name == mine
            else Literal(None, type_)
            for name, type_ in lists.items()
        ]
        body = MakeStruct((Literal(number, Int()), Get(var, "row", Int()), *values), gives)
        rows = [(row, *each) for row, each in enumerate(rows_of(group[0]))]
        tasks += [
            memory(f"rows{number}", element, rows),
            task(f"map{number}", Map(Lambda((var,), body)), [f"rows{number}"], gives),
        ]
    inputs = [f"map{number}" for number in range(len(groups))]
    if len(groups) > 1:
        tasks.append(task("all", Union(), inputs, gives))
        inputs = ["all"]
    return program_of(batch_unit("functions", [*tasks, task("reply", Reply(), inputs, gives)]))


def grouped(cases: Sequence[Case]) -> list[list[Case]]:
    """Cases that cannot fail, of the same arguments and result, share their rows; the others stand alone."""
    found: dict[object, list[Case]] = {}
    for number, each in enumerate(cases):
        alone = FUNCTIONS[each.function].failures or each.function == "known"
        shared = (fields_of(each), repr(each.values), strip(result_of(each)))
        found.setdefault(number if alone else shared, []).append(each)
    return list(found.values())


def _element(case: Case) -> Struct:
    return stream({"row": Int()} | {f"a{place}": each for place, each in enumerate(fields_of(case))})


def _given(var: Var, case: Case) -> list[Expr]:
    return [Get(var, f"a{place}", each) for place, each in enumerate(fields_of(case))]
