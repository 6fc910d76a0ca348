"""Which event times of a unit meet: of those tasks that declare event time, whose records may come together behind."""

from __future__ import annotations

from ghcm.spg.graph import Unit
from ghcm.spg.ops import EventTime


def companies(unit: Unit) -> dict[str, frozenset[str]]:
    """By `EventTime` task those whose records may meet its own in some task behind both, itself too; and those that
    meet these: event time goes on in all of a company together.
    """
    above: dict[str, frozenset[str]] = {}
    found: dict[str, frozenset[str]] = {}
    for task in unit.tasks:
        mine = frozenset[str]().union(*(above[edge.producer] for edge in task.inputs))
        if isinstance(task.op, EventTime):
            mine |= {task.id}
        above[task.id] = mine
        company = mine.union(*(found.get(each, frozenset()) for each in mine))
        found |= dict.fromkeys(company, company)
    return found
