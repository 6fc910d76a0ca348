"""What generated programs have met of the tables: operators, functions, forms, types, and ways to fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, cast, get_args

from ghcm import expr, types
from ghcm.functions import FUNCTIONS
from ghcm.operators import OPERATORS
from ghcm.spg.graph import Program
from ghcm.spg.iterations import all_tasks
from ghcm.spg.reference import Result
from ghcm.spg.reference.functions import MEANINGS
from ghcm.spg.reference.functions.meaning import Failed, Meaning
from ghcm.support import Yes

__all__ = ["UNIVERSE", "Coverage", "watch_failures"]

_WORDS = {"rows": "memory", "narrowing": "filter", "out.to": "to", "out.publish": "publish"}
_NO_VALUES = {"Null", "Decimal"}
"""No record has nulls only; decimals are not generated."""
_SOUND = {"read"}
"""What cannot fail on the rows that a sink of this run holds."""


def _universe() -> dict[str, frozenset[str]]:
    """All that there is to meet, by kind."""
    failing = {f"{name} by {each.value}" for name, row in FUNCTIONS.items() for each in row.failures}
    runs = {name: row for name, row in OPERATORS.items() if isinstance(row.reference, Yes)}
    failing |= {f"{name} fails" for name, row in runs.items() if row.failures and name not in _SOUND}
    return {
        "operators": frozenset(runs),
        "functions": frozenset(FUNCTIONS),
        "forms": frozenset(each.__name__ for each in get_args(expr.Expr)),
        "types": frozenset(each.__name__ for each in get_args(types.Type)) - _NO_VALUES,
        "failures": frozenset(failing),
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

    def add(self, program: Program, result: Result) -> None:
        """A program that the reference has run."""
        self.programs += 1
        self.letters += len(result.dead)
        words: dict[str, str] = {}
        for task in all_tasks(program.unit("u")):
            word = task.id.rsplit("/", 1)[-1].split(".n")[0].rstrip("0123456789")
            words[task.id] = _WORDS.get(word, word)
            self.met["operators"] |= {words[task.id]} | ({"named"} if task.named else set())
            self.operators += 1
        if "files" in words.values():
            self.met["operators"].add("as")
        for node in _nodes(program.unit("u").tasks):
            self._meet(node)
        for letter in result.dead:
            word = words.get(letter.task, letter.task)
            self.met["failures"] |= {f"{word} fails"} | ({"as fails"} if word == "files" else set())

    def _meet(self, node: object) -> None:
        name = type(node).__name__
        if isinstance(node, expr.Call):
            self.met["functions"].add(node.function)
        for kind in ("forms", "types"):
            if name in UNIVERSE[kind]:
                self.met[kind].add(name)

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


def _nodes(value: object) -> Iterator[object]:
    """The parts of a graph that are dataclasses, but for the data."""
    if isinstance(value, tuple):
        for each in cast("tuple[object, ...]", value):
            yield from _nodes(each)
    elif is_dataclass(value) and type(value).__name__ not in ("Memory", "Origin"):
        yield value
        for part in _parts(type(value)):
            yield from _nodes(getattr(value, part))


_PARTS: dict[type, tuple[str, ...]] = {}


def _parts(type_: type[Any]) -> tuple[str, ...]:
    if type_ not in _PARTS:
        _PARTS[type_] = tuple(each.name for each in fields(type_) if each.init)
    return _PARTS[type_]


def watch_failures(coverage: Coverage) -> None:
    """From now on, what fails in the reference is met: by function and reason."""
    for name, meaning in list(MEANINGS.items()):
        MEANINGS[name] = _watched(coverage, name, cast("Callable[..., object]", meaning))


def _watched(coverage: Coverage, name: str, meaning: Callable[..., object]) -> Meaning:
    met = coverage.met["failures"]

    def call(*arguments: object) -> object:
        try:
            return meaning(*arguments)
        except Failed as failed:
            met.add(f"{name} by {failed.reason.value}")
            raise

    return call
