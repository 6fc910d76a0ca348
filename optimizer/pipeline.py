"""The passes of the optimiser, in order. The order is data; `check_order` makes a wrong one impossible to run."""

from __future__ import annotations

from collections.abc import Sequence

from ghcm.optimizer.compression import CompressTasks
from ghcm.optimizer.liveness import DropUnused
from ghcm.optimizer.passes import Fact, Pass
from ghcm.optimizer.simplification import RemoveRedundantCalls

PASSES: tuple[Pass, ...] = (DropUnused(), RemoveRedundantCalls(), CompressTasks())


def check_order(passes: Sequence[Pass]) -> None:
    """ValueError if a pass stands before one that establishes what it requires."""
    known: set[Fact] = set()
    for each in passes:
        missing = each.requires - known
        if missing:
            wanted = ", ".join(sorted(f'"{fact.value}"' for fact in missing))
            raise ValueError(f'the pass "{each.name}" requires {wanted}, which no pass before it establishes')
        known |= each.establishes


check_order(PASSES)
