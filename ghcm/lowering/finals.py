"""Final pairs: what a table gives on where its input ends, to operators that take no table.

A named aggregation of input that ends is a table while it runs, and pairs at the end: one task is both. The task made
here is under the name of the table, so that neither of its readers has to name it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ghcm.lowering.drafting import Step
from ghcm.lowering.flows import Flow
from ghcm.spg.graph import Forward
from ghcm.spg.ops import Changes
from ghcm.types import Collection, Shape


def ends_as_pairs(collection: Collection) -> bool:
    """Whether it is a table of input that ends."""
    return collection.shape is Shape.TABLE and collection.bounded


def wants_final(takes: Sequence[Shape], collection: Collection) -> bool:
    """Whether an operator of such inputs takes the final pairs of the collection, and not the table itself."""
    return ends_as_pairs(collection) and Shape.TABLE not in takes and Shape.PAIRS in takes


def final(step: Step, flow: Flow) -> Flow:
    """The pairs that such a table holds at the end; the same task for all who ask. What has written the table before
    has done so for whoever publishes behind it.
    """
    assert ends_as_pairs(flow.collection), "only what ends is final"
    finals, collection = step.unit.finals, Collection(Shape.PAIRS, flow.collection.element, True)
    if flow.draft not in finals:
        made = step.add(Changes(final=True), collection, (flow, Forward()), calls=0)
        made.word = "final"
        finals[flow.draft] = made
    return Flow(finals[flow.draft], collection, regrouped=True, written=flow.written)
