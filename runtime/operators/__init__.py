"""The operators of the native engine: one file each, and the total choice among them."""

from __future__ import annotations

from ghcm.runtime.contract import Context, Operator
from ghcm.runtime.native.code import TaskCode
from ghcm.spg.graph import Task, Unit

__all__ = ["build"]


def build(task: Task, unit: Unit, code: TaskCode | None, context: Context) -> Operator:
    """The operator of a task. `code` is the entry of the generated module for it; None for tasks that need none."""
    from ghcm.runtime.operators.choice import choose

    return choose(task, unit, code, context)
