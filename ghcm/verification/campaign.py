"""Examples of a unit, run everywhere and compared; the first that differs is made small.

A difference is one of rows, replies, dead letters or instructions; that an engine fails where the reference does not
is one, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Protocol

from ghcm.errors import GhcmError
from ghcm.spg.graph import Program, Unit
from ghcm.spg.ops import Sort, Top
from ghcm.spg.reference import Result, run
from ghcm.verification.compare import compare_calls, compare_rows, differences
from ghcm.verification.engines import Left, reply_element
from ghcm.verification.generator import simpler
from ghcm.verification.given import Given, Rows, generated

_SHOWN = 8


class Runner(Protocol):
    """An engine with a unit."""

    @property
    def name(self) -> str:
        """What it is called in messages."""
        ...

    def run(self, given: Given) -> Left:
        """What it leaves of these rows."""
        ...


@dataclass(frozen=True, slots=True)
class Difference:
    """What an engine does otherwise than the reference, in words, and the small input that shows it."""

    engine: str
    given: Given
    said: Sequence[str]


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a unit: how many examples and records were run, and the first difference."""

    examples: int
    records: int
    difference: Difference | None


def verify(
    program: Program,
    unit: Unit,
    engines: Sequence[Runner],
    *,
    examples: int,
    seed: int = 0,
    most: int = 12,
    data: Given | None = None,
    tries: int = 400,
) -> Report:
    """Run `examples` generated from the seed, with up to `most` rows for each source, or the given `data`; end with
    the first difference, made small in so many `tries`.
    """
    number, records = 0, 0
    for number, given in enumerate(_examples(unit, data, examples, seed, most), 1):
        records += sum(map(len, given.rows.values()))
        expected = _reference(program, unit, given)
        for engine in engines:
            if said := _differs(program, unit, given, engine, expected):
                small = shrunk(given, unit, partial(_fails, program, unit, engine), tries)
                said = _again(program, unit, small, engine) or said
                return Report(number, records, Difference(engine.name, small, said[:_SHOWN]))
    return Report(number, records, None)


def _examples(unit: Unit, data: Given | None, examples: int, seed: int, most: int) -> Iterator[Given]:
    for number in range(1 if data is not None else examples):
        example = generated(unit, Random(f"{seed} {unit.name} {number}"), most)
        yield example if data is None else Given({**example.rows, **data.rows}, example.parameters)


def _again(program: Program, unit: Unit, given: Given, engine: Runner) -> list[str]:
    return _differs(program, unit, given, engine, _reference(program, unit, given))


def _fails(program: Program, unit: Unit, engine: Runner, given: Given) -> bool:
    return bool(_again(program, unit, given, engine))


def _reference(program: Program, unit: Unit, given: Given) -> Result | GhcmError:
    try:
        return run(given.program(program, unit), unit.name, parameters=given.parameters)
    except GhcmError as error:
        return error


def _differs(program: Program, unit: Unit, given: Given, engine: Runner, expected: Result | GhcmError) -> list[str]:
    """What the engine does otherwise, in words; empty where it does the same."""
    try:
        left = engine.run(given)
    except Exception as error:  # whatever an engine raises is a difference
        if isinstance(expected, GhcmError):
            return []
        return [f"failed: {type(error).__name__}: {str(error)[:2000]}"]
    if isinstance(expected, GhcmError):
        return [f"does not fail, and the reference does: {expected.message}"]
    ordered = any(isinstance(task.op, Sort | Top) for task in unit.tasks[-2:])
    said = differences(program, expected, sinks=left.sinks, dead=left.dead, ordered=ordered)
    element = reply_element(unit)
    if element is not None:
        rows = (expected.reply or [], left.reply or [])
        compared = compare_rows(*rows, element, expected.magnitude, ordered=ordered, inexact=expected.inexact)
        said += [f"reply: {line}" for line in compared]
    mine = sorted(expected.instructions, key=lambda each: each.task)
    calls = compare_calls(program, mine, sorted(left.calls, key=lambda each: each[0]))
    return said + [f"instructions: {line}" for line in calls]


# --- making it small -------------------------------------------------------------------------------------------------


def shrunk(given: Given, unit: Unit, fails: Callable[[Given], bool], tries: int) -> Given:
    """A smaller input that fails as well: fewer rows first, then simpler values; found in so many tries at most."""
    left = tries
    changed = True
    while changed and left > 0:
        changed = False
        for less in _smaller(given, unit):
            left -= 1
            if left <= 0:
                break
            if fails(less):
                given, changed = less, True
                break
    return given


def _smaller(given: Given, unit: Unit) -> Iterator[Given]:
    """Inputs that say a little less, those that say much less first."""
    for id, rows in given.rows.items():
        size = (len(rows) + 1) // 2
        while size:
            for start in range(0, len(rows), size):
                yield _with(given, id, (*rows[:start], *rows[start + size :]))
            size = size // 2
    for id, rows in given.rows.items():
        schema = unit.task(id).schema
        for at, row in enumerate(rows):
            for column, field in enumerate(schema.fields):
                for value in simpler(row[column], field.type):
                    changed = (*row[:column], value, *row[column + 1 :])
                    yield _with(given, id, (*rows[:at], changed, *rows[at + 1 :]))
    types: Mapping[str, object] = {each.name: each for each in unit.parameters if not each.required}
    for name in given.parameters.keys() & types.keys():
        yield replace(given, parameters={key: each for key, each in given.parameters.items() if key != name})


def _with(given: Given, id: str, rows: Rows) -> Given:
    return replace(given, rows={**given.rows, id: rows})
