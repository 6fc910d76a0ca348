"""When the windows of a task are closed: at the watermark `end + allowed lateness`, with what upstream aggregations
hold back added.
"""

from __future__ import annotations

from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Fused, Window


def lateness_of(task: Task, unit: Unit) -> int:
    """How long (microseconds of event time) after its end a window of the task's input may still get records.

    An upstream windowed aggregation gives its results only when its own windows close, which is so much later.
    """
    return max((_behind(unit.task(edge.producer), unit) for edge in task.inputs), default=0)


def _behind(task: Task, unit: Unit) -> int:
    before = max((_behind(unit.task(edge.producer), unit) for edge in task.inputs), default=0)
    match task.op:
        case Window(allowed_lateness_us=lateness):
            return before + lateness
        case Fused(stages=stages):
            return before + sum(stage.op.allowed_lateness_us for stage in stages if isinstance(stage.op, Window))
        case _:
            return before
