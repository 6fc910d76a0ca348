"""How far a run is, from what its job says and from Spark's stages, as a share that only grows."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_MOST = 0.99


class Progress:
    """Written by the thread that runs the job, read by the one that watches it. `group` is the job group of the run."""

    def __init__(self, spark: SparkSession, group: str) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._group = group
        self._lock = threading.Lock()
        self._share = 0.0
        self._doing = ""

    def say(self, share: float, doing: str) -> None:
        """What the job says of itself."""
        with self._lock:
            self._share, self._doing = max(self._share, min(share, _MOST)), doing

    def look(self) -> tuple[float, str]:
        """The share that is done and what is being done."""
        done, total = 0, 0
        for job in self._tracker.getJobIdsForGroup(self._group):
            info = self._tracker.getJobInfo(job)
            stages: Sequence[int] = (
                cast("Any", info).stageIds if info is not None else ()
            )  # pyspark leaves their type open
            for stage in stages:
                tasks = self._tracker.getStageInfo(stage)
                if tasks is not None:
                    done, total = done + tasks.numCompletedTasks, total + tasks.numTasks
        with self._lock:
            # Later steps may bring further stages, so stages alone never reach the end.
            share = self._share + (_MOST - self._share) * 0.5 * (done / total if total else 0.0)
            self._share = max(self._share, min(share, _MOST))
            return self._share, self._doing
