"""What generated programs have met of the tables: operators and their options, functions, forms, types and where they
stand, and ways to fail.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast, get_args

from ghcm import expr
from ghcm.functions import FUNCTIONS
from ghcm.operators import OPERATORS
from ghcm.spg.graph import Program, Unit, all_tasks
from ghcm.spg.reference import Result
from ghcm.spg.reference.expressions import evaluate
from ghcm.spg.reference.functions import MEANINGS
from ghcm.spg.reference.functions.meaning import Failed, Meaning
from ghcm.support import Yes
from tests.laws.covered_options import ELSEWHERE, OPTIONS, options_of
from tests.laws.covered_types import PLACES, TYPES, nodes, places_of

__all__ = ["UNIVERSE", "Coverage", "watch_failures"]

_WORDS = {"rows": "memory", "narrowing": "filter", "choosing": "filter", "out.to": "to", "out.publish": "publish"}
_ELSEWHERE = {
    "kafka": "tests/conformance/test_kafka.py",
    "sql": "tests/conformance/test_sql_sources.py",
    "table": "tests/conformance/test_delta_sources.py",
    "latest": "what is the newest of input that ends, and what follows it: tests/conformance/test_changing_tables.py",
    "lookup": "tests/unit/runtime/slot/test_services_asked.py",
    "cross": "a join by a constant in the graph: tests/golden/lowering/operators.spg",
    **dict.fromkeys(("absent", "present", "scan", "process", "chunks"), "tests/conformance/test_in_time_order.py"),
}
"""Operators that generated programs do not have, and what has them: what they read has to be made first, or graphs have
others instead.
"""
_SOUND = {"read"}
"""What cannot fail on the rows that a sink of this run holds."""


def _universe() -> dict[str, frozenset[str]]:
    """All that there is to meet, by kind."""
    runs = {name: row for name, row in OPERATORS.items() if isinstance(row.reference, Yes) and name not in _ELSEWHERE}
    failing = {name: row.failures for name, row in FUNCTIONS.items()}
    letters = {name: row.failures for name, row in runs.items() if name not in _SOUND}
    return {
        "operators": frozenset(runs),
        "options": OPTIONS,
        "functions": frozenset(name for name, row in FUNCTIONS.items() if not row.inexact),
        "forms": frozenset(each.__name__ for each in get_args(expr.Expr)),
        "types": TYPES,
        "places of types": PLACES,
        "failures of functions": frozenset(f"{name} by {each.value}" for name, of in failing.items() for each in of),
        "failures that are null": frozenset(name for name, of in failing.items() if of),
        "dead letters of operators": frozenset(
            f"{name} by {each.value}" for name, of in letters.items() for each in of
        ),
    }


UNIVERSE = _universe()


@dataclass(slots=True)
class Coverage:
    """What has been met so far, by kind."""

    met: dict[str, set[str]] = field(default_factory=lambda: {kind: set() for kind in UNIVERSE})
    programs: int = 0
    operators: int = 0
    letters: int = 0
    columns: int = 0
    """Records that the columnar form did."""
    _size: int = 0

    def add(self, program: Program, result: Result) -> bool:
        """A program that the reference has run; whether it has met something new since the last one."""
        unit = program.unit("u")
        self.programs += 1
        self.letters += len(result.dead)
        words = _words(unit)
        self.operators += len(words)
        self.met["operators"] |= {*words.values()} | {"named" for task in all_tasks(unit) if task.named}
        self.met["options"] |= options_of(program, unit)
        for kind, place in places_of(unit):
            self.met["types"].add(kind)
            self.met["places of types"].add(f"{kind} {place}")
        for node in nodes(unit.tasks):
            self._meet(node)
        for letter in result.dead:
            self._dead(words.get(letter.task, letter.task), letter.reason.value)
        size, self._size = self._size, sum(map(len, self.met.values()))
        return self._size > size

    def _meet(self, node: object) -> None:
        name = type(node).__name__
        if isinstance(node, expr.Call):
            self.met["functions"].add(node.function)
        if name in UNIVERSE["forms"]:
            self.met["forms"].add(name)

    def _dead(self, word: str, reason: str) -> None:
        met = self.met["dead letters of operators"]
        met.add(f"{word} by {reason}")
        if word == "files":
            met.add(f"as by {reason}")

    def merge(self, other: Coverage) -> None:
        """What another process has met."""
        for kind, met in other.met.items():
            self.met[kind] |= met
        self.programs += other.programs
        self.operators += other.operators
        self.letters += other.letters
        self.columns += other.columns

    def share(self, kind: str) -> float:
        """The part of what there is."""
        return len(self.met[kind] & UNIVERSE[kind]) / len(UNIVERSE[kind])

    def lines(self) -> Iterator[str]:
        """For people."""
        yield f"{self.programs:,} programs, {self.operators:,} operators, {self.letters:,} dead letters"
        yield f"{self.columns:,} records in the columnar form"
        for kind, known in UNIVERSE.items():
            missing = sorted(known - self.met[kind])
            rest = f"; not: {', '.join(missing)}" if missing else ""
            yield f"{kind}: {len(known) - len(missing)} of {len(known)} ({self.share(kind):.1%}){rest}"
        for option, reason in (ELSEWHERE | _ELSEWHERE).items():
            yield f"not counted: {option}, {reason}"


def _words(unit: Unit) -> dict[str, str]:
    """The operators of the language that the tasks are, those of a file its decoding too."""
    words: dict[str, str] = {}
    for task in all_tasks(unit):
        word = task.id.rsplit("/", 1)[-1].split(".n")[0].rstrip("0123456789")
        words[task.id] = _WORDS.get(word, word)
    return words | ({"": "as"} if "files" in words.values() else {})


def watch_failures(coverage: Coverage) -> None:
    """From now on, what fails in the reference is met: by function and reason where the record fails, and by function
    where a `try` makes it null.
    """
    for name, meaning in list(MEANINGS.items()):
        MEANINGS[name] = _watched(coverage, name, cast("Callable[..., object]", meaning))


def _watched(coverage: Coverage, name: str, meaning: Callable[..., object]) -> Meaning:
    fatal, safe = coverage.met["failures of functions"], coverage.met["failures that are null"]

    def call(*arguments: object) -> object:
        try:
            return meaning(*arguments)
        except Failed as failed:
            around = _around()
            if around and expr.Try in around:
                safe.add(name)
            elif around:
                fatal.add(f"{name} by {failed.reason.value}")
            raise

    return call


def _around() -> set[type]:
    """The kinds of expressions that are being evaluated. There are none where the generator asks which arguments fail,
    which is no program's doing.
    """
    found: set[type] = set()
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code is evaluate.__code__:
            found.add(type(cast("object", frame.f_locals.get("expr"))))
        frame = frame.f_back
    return found
