"""Pre-aggregation: partial groups are made where that leaves less to be sent and joined; `EAGER_RULES` has the laws.

What it does: puts a part of an aggregation below the join that it stands behind (eager aggregation).
Why: the join takes one record of each of its keys, and no more are exchanged for it.
Example: the first three become the rest (`tests/golden/optimiser/eager.out` has more such)::

    sides = join(inner, [(s: Sale) => s.shop], [(p: Shop) => p.id], none, false) <- sales hash(shop), shops hash(id)
    pairs = map_to_pair((j: {left: Sale, right: Shop}) => (j.right.town, j.left.price)) <- sides
    most = reduce_by_key(max) <- pairs hash(key)
    most.pairs = map_to_pair((left: Sale) => (left.shop, left.price)) <- sales
    most.part = reduce_by_key(max, phase = partial) <- most.pairs hash(key)
    sides = join(inner, [(p: {key: int, value: int}) => p.key], ...) <- most.part hash(key), shops hash(id)
    pairs = map_to_pair((j: ...) => (j.right.town, j.left.value)) <- sides
    most = reduce_by_key(max, phase = merge) <- pairs hash(key)

Requires and keeps: simplified graphs, which it leaves simplified. Keeps the id of the aggregation, whose groups these
are, and every dead letter: only what cannot fail is moved.
Declines when: a group or a pair may fail; the aggregation reads both sides, or is not put together of parts; the groups
are by more of the left side than the keys of the join; that side is grouped already.
"""

from collections.abc import Iterator

from ghcm.optimizer.passes import Fact, Pass, Remarks, Verdict
from ghcm.optimizer.redundancy import SIMPLIFIED
from ghcm.optimizer.rules import RULES, possible, simplified
from ghcm.optimizer.rules.eager import EAGER_RULES
from ghcm.spg.graph import Unit


def _pre_aggregate(unit: Unit, remarks: Remarks) -> Unit:
    """The rules in turn with those that make less of what they leave, until nothing changes."""
    while (changed := simplified(unit, EAGER_RULES, remarks)) is not unit:
        again = Remarks(remarks.optimiser_pass)
        unit = simplified(changed, RULES, again)
        remarks.made = [each for each in remarks.made if each.verdict is Verdict.APPLIED]
        remarks.made += [each for each in again.made if each.verdict is Verdict.APPLIED]
    return unit


def _behind_joins(unit: Unit) -> Iterator[str]:
    for rule, producer, task, _ in possible(unit, EAGER_RULES):
        yield f'"{unit.name}.{task.id}" could stand below what "{producer.id}" reads: {rule.law}'


PRE_AGGREGATED = Fact("what can be aggregated ahead of a join is", _behind_joins)
PRE_AGGREGATE = Pass("pre-aggregate", _pre_aggregate, frozenset({PRE_AGGREGATED}), requires=frozenset({SIMPLIFIED}))
