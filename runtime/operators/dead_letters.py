"""Dead letters of a task: what its operator and its generated code say about a failed record, with unit, position and
JSON text added.
"""

from __future__ import annotations

from collections.abc import Callable

from ghcm.functions import Failure
from ghcm.runtime.contract import Outbox
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Fused
from ghcm.types import Struct, Type
from ghcm.values import encode


class DeadLetters:
    """The dead letters of one task. `taken` is the element of its input (the first one's, where there are several)."""

    def __init__(self, unit: Unit, task: Task) -> None:
        self._unit = unit.name
        self._task = task
        self.taken = unit.task(task.inputs[0].producer).collection.element
        self._stages: dict[str, tuple[Type, str]] = {task.id: (self.taken, str(task.origin))}
        if isinstance(task.op, Fused):
            taken = self.taken
            for stage in task.op.stages:
                self._stages[stage.id] = (taken, stage.origin)
                taken = stage.element

    def to(self, outbox: Outbox) -> Callable[[str, object, Failure, str], None]:
        """What generated code calls with a failed record."""

        def dead(stage: str, record: object, reason: Failure, detail: str) -> None:
            type_, origin = self._stages[stage]
            outbox.dead(DeadLetter(self._unit, stage, reason, detail, encode(record, type_), origin))

        return dead

    def other(self, outbox: Outbox, value: object, type_: Type, reason: Failure, detail: str) -> None:
        """A letter whose input is no record of the task's input: a group, a joined pair, nothing."""
        text = encode(value, type_)
        outbox.dead(DeadLetter(self._unit, self._task.id, reason, detail, text, str(self._task.origin)))


def group_type(columns: Struct) -> Struct:
    """What the letter of a group holds: its key and window, as far as it has them."""
    return Struct(tuple(field for field in columns.fields if field.name in ("key", "window")))
