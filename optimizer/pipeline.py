"""The passes of the optimiser, in order, and what runs them: the order is data, and a wrong one cannot be run.

The record of a run is what `ghcm explain` shows: the graph after each pass that changed it, every remark, and the calls
before and after.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from ghcm.errors import GhcmError, suggest
from ghcm.optimizer.columns import REQUIRED_COLUMNS
from ghcm.optimizer.compression import COMPRESS_TASKS
from ghcm.optimizer.deltas import WORK_ON_DELTAS
from ghcm.optimizer.expansion import EXPAND_TASKS
from ghcm.optimizer.liveness import DROP_UNUSED
from ghcm.optimizer.passes import Pass, Remark, Remarks, units_of
from ghcm.optimizer.preaggregation import PRE_AGGREGATE
from ghcm.optimizer.redundancy import REMOVE_REDUNDANT_CALLS
from ghcm.spg.graph import Program, all_tasks

PASSES: tuple[Pass, ...] = (
    DROP_UNUSED,
    WORK_ON_DELTAS,
    REMOVE_REDUNDANT_CALLS,
    PRE_AGGREGATE,
    REQUIRED_COLUMNS,
    COMPRESS_TASKS,
    EXPAND_TASKS,
)


def check_order(passes: Sequence[Pass]) -> None:
    """ValueError if a pass stands before one that establishes what it requires. What is left out on purpose is asked
    of nobody.
    """
    known = {fact for each in PASSES if each not in passes for fact in each.establishes}
    for each in passes:
        missing = each.requires - known
        if missing:
            wanted = ", ".join(sorted(f'"{fact.says}"' for fact in missing))
            raise ValueError(f'the pass "{each.name}" requires {wanted}, which no pass before it establishes')
        known |= each.establishes


check_order(PASSES)


def chosen(without: Collection[str] = (), until: str | None = None) -> tuple[Pass, ...]:
    """The passes but for those of these names, up to one of that name; GhcmError where there is none of a name."""
    names = [each.name for each in PASSES]
    for name in (*without, *(() if until is None else (until,))):
        if name not in names:
            hint = suggest(name, names) or f"there are {', '.join(names)}."
            raise GhcmError(f'the optimiser has no pass "{name}"', code="GHCM-605", hint=hint)
    last = len(names) if until is None else names.index(until) + 1
    return tuple(each for each in PASSES[:last] if each.name not in without)


def broken_claims(behind: Pass, program: Program, passes: Sequence[Pass] = PASSES) -> Iterator[str]:
    """What contradicts a fact that the pass, or one before it, has established."""
    for each in passes[: passes.index(behind) + 1]:
        for fact in each.establishes:
            every = (part for unit in program.units for part in units_of(unit))
            broken = (problem for unit in every for problem in fact.broken(unit))
            yield from (f"{fact.says}, but {problem}" for problem in broken)


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

    before: Program
    program: Program
    steps: tuple[Step, ...]
    summaries: tuple[Summary, ...]

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """All remarks, in the order of the passes."""
        return tuple(remark for step in self.steps for remark in step.remarks)


def optimise(
    program: Program, passes: Sequence[Pass] = PASSES, after_pass: Callable[[Pass, Program], None] | None = None
) -> Optimised:
    """Run the passes in order. `after_pass` sees each and its result: tests verify the graph and the claims there."""
    check_order(passes)
    before = program
    steps: list[Step] = []
    for each in passes:
        remarks = Remarks(each.name)
        result = each.run(program, remarks)
        if after_pass is not None:
            after_pass(each, result)
        steps.append(Step(each.name, result, result is not program, tuple(remarks.made)))
        program = result
    return Optimised(before, program, tuple(steps), _summaries(before, program))


def _summaries(before: Program, after: Program) -> tuple[Summary, ...]:
    return tuple(
        Summary(old.name, sum(task.calls for task in all_tasks(old)), sum(1 for _ in all_tasks(new)))
        for old, new in zip(before.units, after.units, strict=True)
    )
