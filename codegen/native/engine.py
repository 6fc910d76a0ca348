"""The native engine as the compiler sees it: what it has not yet, and the module of a unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ghcm.codegen.backend import Artifact
from ghcm.codegen.native.module import generate
from ghcm.spg.graph import Program, Task, Unit
from ghcm.spg.ops import Join, Sessions
from ghcm.support import YES, NotYet, Support
from ghcm.types import Shape


@dataclass(frozen=True, slots=True)
class Native:
    """Runs stream units, in this process, as one Python module."""

    name: str = "native"
    kinds: frozenset[str] = frozenset({"stream"})
    requirements: tuple[str, ...] = ()

    @property
    def shared(self) -> Mapping[str, bytes]:
        """Nothing: its modules import the runtime."""
        return {}

    def supports(self, program: Program, unit: Unit, task: Task) -> Support:
        """The checker says the same to users; this is for graphs that it has not seen."""
        missing = "sessions" if isinstance(task.op, Sessions) else ""
        if isinstance(task.op, Join):
            missing = _missing(task, task.op, unit)
        if not missing:
            return YES
        return NotYet(f'the native engine has no {missing} yet, and "{task.id}" needs them', code="GHCM-501")

    def emit(self, program: Program, unit: Unit) -> Artifact:
        """The module, with a row form and a columnar form of every task."""
        return Artifact(generate(program, unit))


def _missing(task: Task, op: Join, unit: Unit) -> str:
    """What the engine lacks for a join; empty where it can do it."""
    left, right = (unit.task(edge.producer).collection for edge in task.inputs)
    if op.asof and not (left.bounded and right.bounded):
        return "joins of streams as of a time"
    if right.shape is Shape.TABLE:
        producer = unit.task(task.inputs[1].producer)
        timed = any(unit.task(edge.producer).collection.timed for edge in producer.inputs)
        return "joins with tables of event time" if timed and not right.bounded else ""
    return "" if right.bounded else "joins of streams"


NATIVE = Native()
