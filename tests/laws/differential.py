"""Generated programs against the reference: both native forms, optimised and not, and Spark.

    python -m tests.laws.differential                             2,000 programs, 200 of them on Spark too
    python -m tests.laws.differential --programs 50000 --spark 2000
    python -m tests.laws.differential --seed 17                   one program again, made small if it fails

A program is made from its seed alone. One that fails is printed small, as text with its data.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from ghcm.optimizer import optimise
from ghcm.runtime.contract import Form
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.sources.files import FilesSource
from ghcm.spg.connectors import Files, Socket
from ghcm.spg.graph import Task
from ghcm.spg.ops import PythonBatch, ReadSink, Sort, Source, Top, Union
from ghcm.spg.reference import Result
from ghcm.spg.text import print_program
from ghcm.spg.verify import verify
from ghcm.verification.compare import compare_calls, compare_rows, differences
from ghcm.verification.compare import letters as letters_of
from tests.laws.coverage import Coverage, watch_failures
from tests.laws.runs import files_of, is_raw, reference_of
from tests.laws.seeds import example, shrunk
from tests.laws.spg_whole import Case, cases
from tests.unit.runtime.formats.decoding import drain_batches
from tests.unit.runtime.operators.harness import Given, module_of, run_unit

__all__ = ["Failure", "case_of", "describe", "problems", "reference_of", "run_all"]

FORMS: tuple[Form, ...] = ("rows", "columns")
Failure = tuple[int, list[str]]
Letter = tuple[str, str, str]


def case_of(seed: int) -> Case:
    """The case of that number."""
    return example(cases(), seed).value


def problems(case: Case, coverage: Coverage | None = None, thinned: int = 1) -> list[str]:
    """What the native engine does otherwise than the reference, in words; what is raised is one of these.

    Of programs that meet nothing new only one in `thinned` goes on from the reference to the engine.
    """
    try:
        return [*_problems(case, coverage, thinned)]
    except Exception as error:
        return [f"raised {type(error).__name__}: {error}"]


def _problems(case: Case, coverage: Coverage | None, thinned: int) -> Iterator[str]:
    yield from (f"generated wrongly: {each}" for each in verify(case.program))
    expected = reference_of(case)
    if coverage is not None and not coverage.add(case.program, expected) and coverage.programs % thinned:
        return
    inputs, letters = _given(case)
    optimised = optimise(case.program).program
    yield from (f"unsound behind the optimiser: {each}" for each in verify(optimised))
    for word, program in (("as written", case.program), ("optimised", optimised)):
        unit = program.unit("u")
        module = module_of(program, unit)
        tables = {task.id for task in unit.tasks if isinstance(task.op, PythonBatch | Union)}
        for form in FORMS:
            found = run_unit(program, unit, form, size=4, inputs=inputs, module=module)
            yield from (f"{form}, {word}: {each}" for each in _differences(case, expected, found, letters))
            columns = sum(each["columns"] for id, each in found.counts.items() if id not in tables)
            if form == "rows" and columns:
                yield f"{columns} records in the columnar form where rows are asked for"
            if coverage is not None:
                coverage.columns += columns


def _given(case: Case) -> tuple[dict[str, list[Batch]], list[Letter]]:
    """What sources other than the memory give, and their dead letters."""
    inputs: dict[str, list[Batch]] = {}
    letters: list[Letter] = []
    for task in case.unit.tasks:
        if isinstance(task.op, ReadSink):
            rows = [row if isinstance(row, tuple) else (row,) for row in case.sinks[task.op.sink]]
            batches = [Batch.from_rows(task.schema, rows, partition=task.id)]
        elif is_raw(task):
            batches, dead = _decoded(case, task)
            letters += dead
        else:
            continue
        inputs[task.id] = [
            batch.slice(start, min(start + 4, len(batch))) for batch in batches for start in range(0, len(batch), 4)
        ]
    return inputs, letters


def _decoded(case: Case, task: Task) -> tuple[list[Batch], list[Letter]]:
    assert isinstance(task.op, Source)
    connector = task.op.connector
    assert isinstance(connector, Files | Socket)
    files = connector if isinstance(connector, Files) else Files("in/*", connector.format)
    with files_of(case) as folder:
        batches, dead = drain_batches(FilesSource(files, task.schema, task.id, folder))
    return batches, [(task.id, "bad_record", text) for _, text in dead]


def _differences(case: Case, expected: Result, found: Given, letters: Sequence[Letter]) -> Iterator[str]:
    ordered = any(isinstance(task.op, Sort | Top) for task in case.unit.tasks[-2:])
    dead = [*letters, *letters_of(found.letters)]
    yield from differences(case.program, expected, sinks=found.sinks, dead=dead, ordered=ordered)
    if expected.reply is not None:
        element = case.unit.tasks[-1].collection.element
        reply = compare_rows(expected.reply, found.reply or [], element, expected.magnitude, ordered=ordered)
        yield from (f"reply: {each}" for each in reply)
    calls = compare_calls(case.program, expected.instructions, found.publications)
    yield from (f"instructions: {each}" for each in calls)


# --- many ------------------------------------------------------------------------------------------------------------

_COVERAGE = Coverage()
_CHUNKS = 50
"""So many chunks a process runs."""


def _begin() -> None:
    watch_failures(_COVERAGE)


def _chunk(seeds: Sequence[int], thinned: int) -> tuple[Coverage, list[Failure]]:
    """Runs these; what has been met since this process began."""
    _COVERAGE.programs = _COVERAGE.operators = _COVERAGE.letters = _COVERAGE.columns = 0
    found = [(seed, _problems_of(seed, thinned)) for seed in seeds]
    return _COVERAGE, [each for each in found if each[1]]


def _problems_of(seed: int, thinned: int) -> list[str]:
    try:
        case = case_of(seed)
    except Exception as error:
        return [f"the generator raised {type(error).__name__}: {error}"]
    return problems(case, _COVERAGE, thinned)


def run_all(seeds: Sequence[int], workers: int = 2, thinned: int = 1) -> tuple[Coverage, list[Failure]]:
    """These programs in so many processes: what they met, and those that failed by seed.

    `thinned` is that of `problems`.
    """
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    size = max(1, min(100, len(seeds) // workers))
    chunks = [seeds[first : first + size] for first in range(0, len(seeds), size)]
    coverage, failures = Coverage(), list[Failure]()
    spawned = multiprocessing.get_context("spawn")
    # Processes that have made many programs are large: a pool is given up then. One that replaces its processes itself
    # waits for ever in Python 3.11.
    for first in range(0, len(chunks), _CHUNKS * workers):
        with ProcessPoolExecutor(workers, mp_context=spawned, initializer=_begin) as pool:
            for met, failed in pool.map(partial(_chunk, thinned=thinned), chunks[first : first + _CHUNKS * workers]):
                coverage.merge(met)
                failures += failed
        failed_seeds = [seed for seed, _ in failures]
        print(f"{coverage.programs:,} programs, {len(failures)} failed {failed_seeds}", file=sys.stderr, flush=True)
    return coverage, failures


def describe(seed: int, *, shrink: bool = True) -> str:
    """The program of that number, small if it fails, with what is wrong with it."""
    found = example(cases(), seed)
    if shrink and problems(found.value):
        kind = _kind(problems(found.value))
        found = shrunk(cases(), found, lambda case: bool(said := problems(case)) and _kind(said) == kind)
    case = found.value
    data = [f"# {name}: {rows!r}" for name, rows in {**case.sinks, **case.raw}.items()]
    return "\n".join([f"# seed {seed}", print_program(case.program), *data, *(problems(case) or ["no difference"])])


def _kind(said: Sequence[str]) -> str:
    """What a failure has in common with smaller ones: where, or what is raised."""
    return " ".join(said[0].split()[:3])


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 where a program fails."""
    parser = argparse.ArgumentParser(description="run generated programs on all engines and compare")
    parser.add_argument("--programs", type=int, default=2000, help="so many on the native engine")
    parser.add_argument("--spark", type=int, default=200, help="so many on Spark")
    parser.add_argument("--start", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes for the native engine")
    parser.add_argument("--seed", type=int, help="one program by itself")
    given = parser.parse_args(arguments)
    if given.seed is not None:
        print(describe(given.seed))
        return 0
    coverage, failures = run_all(range(given.start, given.start + given.programs), given.workers)
    print("\n".join(coverage.lines()))
    for seed, said in failures[:5]:
        print("\n".join([f"# seed {seed} of {given.start} and more:", *said[:8]]))
        print(describe(seed))
    print(
        f"{len(failures)} of {given.programs:,} programs failed on the native engine: {[seed for seed, _ in failures]}"
    )
    if given.spark:
        from tests.laws.spark_together import batch_cases, run_on_one_session

        met = Coverage()
        watch_failures(met)
        wrong = run_on_one_session(batch_cases(given.spark, given.start), coverage=met)
        print("\n".join(["On Spark:", *met.lines()]))
        print(f"{len(wrong)} of {given.spark:,} programs failed on Spark")
        print("\n".join(f"seed {seed}: {said[:3]}" for seed, said in wrong))
        failures = [*failures, *wrong]
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
