"""Which cases run on Spark whenever the tests do: few enough, and together they meet all that the cases meet.

    python -m tests.conformance.foreign.telling        chooses them anew

With `GHCM_CAMPAIGN` all of them run there. A job of Spark costs as much as a hundred of the native engine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from ghcm import expr
from ghcm.spg.graph import Program, all_tasks
from tests.conformance.foreign.catalogue import SETS
from tests.conformance.foreign.running import compiled
from tests.laws.covered_options import options_of
from tests.laws.covered_types import nodes, places_of

__all__ = ["chosen", "met_by_each", "told_by"]

FILE = Path(__file__).with_name("telling.json")


def chosen() -> frozenset[str]:
    """The cases as `set/case`."""
    return frozenset(json.loads(FILE.read_text(encoding="utf-8")))


def met_by_each() -> dict[str, frozenset[str]]:
    """What the program of each case that Spark runs meets: operators, which follows which, their options, functions by
    the types of their arguments, forms of expressions, types and where they stand.
    """
    return {
        f"{cases.name}/{name}": frozenset(_met(compiled(cases.program(name))))
        for cases in SETS
        for name in cases.run
        if name not in cases.late
    }


def _met(program: Program) -> Iterator[str]:
    unit = program.units[0]
    words = {task.id: type(task.op).__name__ for task in all_tasks(unit)}
    yield from words.values()
    for task in all_tasks(unit):
        yield from (f"{words[task.id]} after {words.get(each.producer)}" for each in task.inputs)
    yield from options_of(program, unit)
    for kind, place in places_of(unit):
        yield from (kind, f"{kind} {place}")
    for node in nodes(unit.tasks):
        yield type(node).__name__
        if isinstance(node, expr.Call):
            yield f"{node.function}({', '.join(type(each.type).__name__ for each in node.arguments)})"


def told_by(met: Mapping[str, frozenset[str]]) -> list[str]:
    """As few of these as come of taking, each time, the one that adds most."""
    left, known = dict(met), frozenset[str]()
    found: list[str] = []
    while left:
        best = max(left, key=lambda each: len(left[each] - known))
        if left[best] <= known:
            break
        known |= left.pop(best)
        found.append(best)
    return sorted(found)


if __name__ == "__main__":
    FILE.write_text(json.dumps(told_by(met_by_each()), indent=0) + "\n", encoding="utf-8")
