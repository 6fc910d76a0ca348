"""Generated batch programs on Spark, a few of them as one job.

The tasks of all programs stand side by side in one unit, their files in folders of their own. What each gives is put
into a field of its own of a wide record, and all of these are replied with. A job that breaks is taken apart until the
programs that break it are found.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count as numbers
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from pyspark.sql import SparkSession

from ghcm.errors import GhcmError
from ghcm.expr import Lambda, Literal, MakeStruct, Var
from ghcm.optimizer import optimise
from ghcm.source import Origin
from ghcm.spg.connectors import Files, Generate, Memory, Redis
from ghcm.spg.graph import Cache, Forward, Input, Program, Task, Unit
from ghcm.spg.ops import Iterate, Map, Op, Publish, Reply, Source, To, Union
from ghcm.spg.reference import Result
from ghcm.types import Collection, Field, Int, Shape, Struct, as_nullable
from ghcm.values import from_json
from ghcm.verification.compare import compare_dead, compare_rows
from tests.conformance.spark_runs import run_on_spark, start_spark
from tests.laws.coverage import Coverage
from tests.laws.rewritable import program_of
from tests.laws.runs import reference_of
from tests.laws.seeds import example
from tests.laws.spg_whole import Case, cases

__all__ = ["batch_cases", "cases_of", "differences_together", "rewritable_cases", "run_on_one_session"]

TOGETHER = 2
"""More cost more: each task takes the plan of all with it."""
_DECLARED = "GHCM-525"
"""What Spark cannot do for each item of a list, which is said before anything runs."""

_ORIGIN = Origin("together.istream", 1, 1)


def batch_cases(count: int, start: int = 0) -> list[tuple[int, Case]]:
    """The first so many batch programs from that seed on that read no sink and call no unit."""
    return [*islice(cases_of(numbers(start)), count)]


def cases_of(seeds: Iterable[int]) -> Iterator[tuple[int, Case]]:
    """The batch programs of these seeds that read no sink and call no unit, each with files in a folder of its own."""
    for seed in seeds:
        case = example(cases(kind="batch", sessions=True), seed).value
        if _stands_alone(case):
            yield seed, _apart(case, f"p{seed}")


def rewritable_cases(count: int, start: int = 0) -> list[tuple[int, Case]]:
    """So many batch programs in which the laws of the optimiser find something to do, from that seed on."""
    return [(seed, Case(program_of(seed, "batch"))) for seed in range(start, start + count)]


def _apart(case: Case, folder: str) -> Case:
    """The case with its files in a folder of their own; records of text say where they are from."""
    (unit,) = case.program.units
    tasks = [
        replace(task, op=Source(replace(task.op.connector, path=f"{folder}/{task.op.connector.path}")))
        if isinstance(task.op, Source) and isinstance(task.op.connector, Files)
        else task
        for task in unit.tasks
    ]
    program = replace(case.program, units=(replace(unit, tasks=tuple(tasks)),))
    return replace(case, program=program, raw={f"{folder}/{name}": data for name, data in case.raw.items()})


def _stands_alone(case: Case) -> bool:
    ops = [task.op for task in case.unit.tasks]
    known = all(isinstance(op.connector, Memory | Generate | Files) for op in ops if isinstance(op, Source))
    return known and not case.sinks and not any(isinstance(op, Publish) for op in ops)


def together(some: Sequence[tuple[int, Case]]) -> Program:
    """One program of many; its reply has the number of an end and, in a field for each, its record."""
    ends = [(_end(seed, at), f"p{seed}_{at}", end) for seed, case in some for at, end in enumerate(_ends(case))]
    fields = (Field(name, as_nullable(end.collection.element)) for _, name, end in ends)
    gives = Struct((Field("end", Int()), *fields))
    tasks = [task for seed, case in some for task in _prefixed(case.unit.tasks, f"p{seed}_")]
    tasks += [_wide(name, number, end, gives) for number, name, end in ends]
    inputs = [task.id for task in tasks if task.id.startswith("wide_")]
    if len(inputs) > 1:
        tasks.append(_task("all", Union(), inputs, Collection(Shape.STREAM, gives, bounded=True)))
        inputs = ["all"]
    tasks.append(_task("reply", Reply(), inputs, Collection(Shape.STREAM, gives, bounded=True)))
    parameters = {each.name: each for _, case in some for each in case.unit.parameters}
    unit = Unit("u", "batch", True, tuple(parameters.values()), "calls", tuple(tasks), _ORIGIN)
    return Program("together", (Cache("calls", Redis("calls"), _ORIGIN),), (), (unit,))


def _end(seed: int, place: int) -> int:
    """The number of an end of a program, by which its records are told apart; they may be null."""
    return seed * 16 + place


def _wide(name: str, number: int, end: Task, gives: Struct) -> Task:
    """What makes of the records of an end such as have one field for each end."""
    record = Var("r", end.collection.element)
    values = [record if each.name == name else Literal(None, each.type) for each in gives.fields[1:]]
    function = Lambda((record,), MakeStruct((Literal(number, Int()), *values), gives))
    taken = replace(end.collection, shape=Shape.STREAM, element=gives, windowed=False)
    return _task(f"wide_{name}", Map(function), [f"p{number // 16}_{end.id}"], taken)


def _ends(case: Case) -> list[Task]:
    """The tasks that sinks and replies are given, in the order of these."""
    return [case.unit.task(task.inputs[0].producer) for task in case.unit.tasks if isinstance(task.op, To | Reply)]


def _task(id: str, op: Op, inputs: Sequence[str], collection: Collection) -> Task:
    return Task(id, op, tuple(Input(each, Forward()) for each in inputs), collection, _ORIGIN)


def _prefixed(tasks: Sequence[Task], prefix: str) -> Iterator[Task]:
    """The tasks but for the ends, with other ids."""
    for task in tasks:
        if isinstance(task.op, To | Reply):
            continue
        inputs = tuple(replace(each, producer=_renamed(each.producer, prefix)) for each in task.inputs)
        op = task.op
        if isinstance(op, Iterate):
            op = replace(op, tasks=tuple(_prefixed(op.tasks, prefix)), result=_renamed(op.result, prefix))
        yield replace(task, id=_renamed(task.id, prefix), op=op, inputs=inputs)


def _renamed(id: str, prefix: str) -> str:
    return id if id.startswith("$") else prefix + id


def differences_together(
    spark: SparkSession,
    some: Sequence[tuple[int, Case]],
    coverage: Coverage | None = None,
    *,
    optimised: bool | None = None,
) -> list[tuple[int, list[str]]]:
    """The programs that Spark runs otherwise than the reference, with what differs. `optimised`: whether they run
    behind the optimiser, by default every other.
    """
    program = together(some)
    if some[0][0] % 2 if optimised is None else optimised:
        program = optimise(program).program
    try:
        with TemporaryDirectory(prefix="ghcm-together-") as name:
            folder = Path(name)
            for _, case in some:
                for path, data in case.raw.items():
                    (folder / path).parent.mkdir(parents=True, exist_ok=True)
                    (folder / path).write_bytes(data)
            found = run_on_spark(spark, program, "u", folder)
    except Exception as error:
        if len(some) == 1:
            if isinstance(error, GhcmError) and error.code == _DECLARED:
                return []
            return [(some[0][0], [f"raised {type(error).__name__}: {str(error)[:2000]}"])]
        half = len(some) // 2
        parts = (some[:half], some[half:])
        return [each for part in parts for each in differences_together(spark, part, coverage, optimised=optimised)]
    gives = program.unit("u").tasks[-1].collection.element
    assert isinstance(gives, Struct)
    rows = [cast("tuple[object, ...]", from_json(each, gives)) for each in found.reply]
    wrong: list[tuple[int, list[str]]] = []
    for seed, case in some:
        expected = reference_of(case)
        if coverage is not None:
            coverage.add(case.program, expected)
        said = [*_differences(seed, case, expected, rows, gives)]
        prefix = f"p{seed}_"
        dead = [(task[len(prefix) :], why, text) for task, why, text in found.dead if task.startswith(prefix)]
        said += [f"dead letters: {each}" for each in compare_dead(expected.dead, dead)]
        wrong += [(seed, said)] if said else []
    return wrong


def _differences(
    seed: int, case: Case, expected: Result, rows: Sequence[tuple[object, ...]], gives: Struct
) -> Iterator[str]:
    """What differs in the records of each end of a program, of which the rows are wide."""
    for place, end in enumerate(_ends(case)):
        at = gives.index(f"p{seed}_{place}")
        mine = [row[at] for row in rows if row[0] == _end(seed, place)]
        yield from compare_rows(_rows(case, expected, place), mine, end.collection.element, expected.magnitude)


def _rows(case: Case, expected: Result, place: int) -> list[object]:
    """What the reference gives at that end."""
    ends = [task.op for task in case.unit.tasks if isinstance(task.op, To | Reply)]
    match ends[place]:
        case To(sink=sink):
            return list(expected.sinks.get(sink, []))
        case _:
            return list(expected.reply or [])


def run_on_one_session(
    some: Sequence[tuple[int, Case]],
    spark: SparkSession | None = None,
    coverage: Coverage | None = None,
    *,
    at_once: int = TOGETHER,
    optimised: bool | None = None,
) -> list[tuple[int, list[str]]]:
    """These programs in one session, so many in a job; those that differ. `coverage`: what they meet."""
    session = spark or start_spark()
    wrong: list[tuple[int, list[str]]] = []
    for first in range(0, len(some), at_once):
        wrong += differences_together(session, some[first : first + at_once], coverage, optimised=optimised)
        failed = [seed for seed, _ in wrong]
        print(json.dumps({"programs": min(first + at_once, len(some)), "failed": failed}), flush=True)
    if spark is None:
        session.stop()
    return wrong
