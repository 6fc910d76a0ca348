"""Runs the passes and keeps the record of what they did.

The record is what `ghcm explain` shows: the graph after each pass that changed it, every remark, and the calls before
and after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ghcm.optimizer.passes import Pass, Remark, Remarks
from ghcm.optimizer.pipeline import PASSES, check_order
from ghcm.spg.graph import Program


@dataclass(frozen=True, slots=True)
class Step:
    """One pass as it ran: its name, the program behind it, whether it changed anything, and its remarks."""

    optimiser_pass: str
    program: Program
    changed: bool
    remarks: tuple[Remark, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """The record of one unit: operator calls as written and tasks as run."""

    unit: str
    calls_before: int
    calls_after: int

    @property
    def ratio(self) -> float:
        """Share of the calls that is left, 0 to 1."""
        return self.calls_after / self.calls_before if self.calls_before else 1.0


@dataclass(frozen=True, slots=True)
class Optimised:
    """The result: the optimised program and how it came about."""

    program: Program
    steps: tuple[Step, ...]
    summaries: tuple[Summary, ...]

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """All remarks, in the order of the passes."""
        return tuple(remark for step in self.steps for remark in step.remarks)


def optimise(
    program: Program, passes: Sequence[Pass] = PASSES, after_pass: Callable[[str, Program], None] | None = None
) -> Optimised:
    """Run the passes in order. `after_pass` sees the name and the result of each: tests verify the graph there."""
    check_order(passes)
    before = program
    steps: list[Step] = []
    for each in passes:
        remarks = Remarks(each.name)
        result = each.run(program, remarks)
        if after_pass is not None:
            after_pass(each.name, result)
        steps.append(Step(each.name, result, result is not program, tuple(remarks.made)))
        program = result
    return Optimised(program, tuple(steps), _summaries(before, program))


def _summaries(before: Program, after: Program) -> tuple[Summary, ...]:
    return tuple(
        Summary(old.name, sum(task.calls for task in old.tasks), len(new.tasks))
        for old, new in zip(before.units, after.units, strict=True)
    )
