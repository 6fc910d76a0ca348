"""Removes redundant calls: two operators that are one by an algebraic law become that one.

What it does: applies the laws of `ghcm.optimizer.rules`, each a row there, until none fits.
Why: fewer calls per record, and expressions that an engine can optimise as a whole.
Requires and keeps: live graphs. Keeps the consumer's id; keeps every dead letter, since only expressions in which no
record can fail are merged.
Declines when: a record may fail in what would be merged (its dead letter would name another operator or hold another
input); a costly expression would be evaluated more than once; the producer has other readers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ghcm.optimizer.liveness import LIVE
from ghcm.optimizer.passes import Fact, Remarks
from ghcm.optimizer.rewrite import each_unit, merge, remove, rewire
from ghcm.optimizer.rules import RULES, Declined, Dropped, Outcome, Rule
from ghcm.spg.graph import Program, Task, Unit


def _redundant(program: Program) -> Iterator[str]:
    for unit in program.units:
        for rule, producer, task, outcome in _matches(unit):
            if not _reason(unit, producer, outcome):
                yield f'"{unit.name}.{task.id}" behind "{producer.id}" is redundant: {rule.law}'


SIMPLIFIED = Fact("no redundant calls are left", _redundant)


@dataclass(frozen=True, slots=True)
class RemoveRedundantCalls:
    """The pass; it has no options."""

    name: str = "remove-redundant-calls"
    requires: frozenset[Fact] = frozenset({LIVE})
    establishes: frozenset[Fact] = frozenset({SIMPLIFIED})

    def run(self, program: Program, remarks: Remarks) -> Program:
        """The program without redundant calls."""
        return each_unit(program, lambda unit: _simplify(unit, remarks))


def _simplify(unit: Unit, remarks: Remarks) -> Unit:
    """Apply the first law that fits until none does; every application removes a task, so this ends."""
    declined: set[tuple[str, str]] = set()
    while (changed := _once(unit, remarks, declined)) is not unit:
        unit = changed
    return unit


def _matches(unit: Unit) -> Iterator[tuple[Rule, Task, Task, Outcome]]:
    """What the laws say of each task and the ones that it reads from."""
    for task in unit.tasks:
        for edge in task.inputs:
            producer = unit.task(edge.producer)
            for rule in RULES:
                outcome = rule.apply(producer, task)
                if outcome is not None:
                    yield rule, producer, task, outcome
                    break


def _reason(unit: Unit, producer: Task, outcome: Outcome) -> str:
    """Why nothing comes of it; empty where something does."""
    if isinstance(outcome, Declined):
        return outcome.reason
    alone = isinstance(outcome, Dropped) or len(unit.consumers(producer.id)) == 1
    return "" if alone else f'"{producer.id}" has other readers'


def _once(unit: Unit, remarks: Remarks, declined: set[tuple[str, str]]) -> Unit:
    for rule, producer, task, outcome in _matches(unit):
        reason = _reason(unit, producer, outcome)
        if isinstance(outcome, Declined) or reason:
            if (producer.id, task.id) not in declined:
                remarks.declined(unit.name, task.id, rule.law, reason, task.origin)
                declined.add((producer.id, task.id))
        elif isinstance(outcome, Dropped):
            remarks.applied(unit.name, task.id, rule.law, outcome.reason, task.origin)
            return remove(unit, task)
        else:
            remarks.applied(unit.name, task.id, rule.law, f'"{producer.id}" became part of it', task.origin)
            merged = rewire(replace(task, op=outcome.op), producer.id, producer.inputs)
            return merge(unit, producer, replace(merged, calls=task.calls + producer.calls))
    return unit
