"""Removes redundant calls: operators that are fewer or cheaper by a law; `RULES` has the laws.

What it does: applies the laws until none fits, in the steps of iterations too.
Why: fewer calls per record, and expressions that an engine can optimise as a whole.
Example: the first two become the third (`tests/golden/optimiser/filters.spg` in full)::

    few = filter((l: {n: int}) => l.n > 1) <- lines
    some = filter((l: {n: int}) => l.n < 9) <- few
    some = filter((l: {n: int}) => l.n > 1 and l.n < 9) <- lines

Requires and keeps: live graphs. Keeps the consumer's id, and every dead letter.
Declines when: a record may fail in what would be merged (its dead letter would name another operator or hold another
input); a costly expression would be evaluated more than once, or become too large; the producer has other readers.
"""

from collections.abc import Iterator

from ghcm.optimizer.liveness import LIVE
from ghcm.optimizer.passes import Fact, Pass, Remarks
from ghcm.optimizer.rules import RULES, possible, simplified
from ghcm.spg.graph import Unit


def _simplify(unit: Unit, remarks: Remarks) -> Unit:
    return simplified(unit, RULES, remarks)


def _redundant(unit: Unit) -> Iterator[str]:
    for rule, producer, task, _ in possible(unit, RULES):
        yield f'"{unit.name}.{task.id}" behind "{producer.id}" is redundant: {rule.law}'


SIMPLIFIED = Fact("no redundant calls are left", _redundant)
REMOVE_REDUNDANT_CALLS = Pass("remove-redundant-calls", _simplify, frozenset({SIMPLIFIED}), requires=frozenset({LIVE}))
