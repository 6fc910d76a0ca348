"""Which process of `make test` runs which file: two of them run those that ask for the session of Spark.

Each session is a Java of its own that is slow until it is warm. A process for which no file of its kind is left takes
one of the other.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

_SESSIONS = 2


class SparkTogether(LoadFileScheduling):
    """Whole files in their order, of its kind first for each process."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        mine = node in self.nodes[:_SESSIONS]
        scope = next((each for each in self.workqueue if _asks_for_spark(self.config.rootpath / each) == mine), None)
        if scope is not None:
            self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)


@cache
def _asks_for_spark(file: Path) -> bool:
    return b"spark: SparkSession" in file.read_bytes()
