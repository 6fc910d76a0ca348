"""What an optimiser pass is: a named, pure function from graph to graph with declared requirements, able to say what
it did and why not.

Nothing here knows a particular rewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from ghcm.source import Origin
from ghcm.spg.graph import Program


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that holds for a graph behind the pass that establishes it, and that a later pass may need.

    `broken` checks it: what of a program contradicts it, as text for developers. It runs in tests behind each pass.
    """

    says: str
    broken: Callable[[Program], Iterable[str]] = field(repr=False)


class Verdict(Enum):
    """Whether a rewrite took place."""

    APPLIED = "applied"
    DECLINED = "declined"


@dataclass(frozen=True, slots=True)
class Remark:
    """One rewrite that was made, or was possible in shape and not made: where, by which law, and why."""

    optimiser_pass: str
    verdict: Verdict
    unit: str
    task: str
    law: str
    reason: str
    origin: Origin = field(compare=False)

    def __str__(self) -> str:
        what = f"{self.verdict.value} {self.optimiser_pass} to {self.unit}.{self.task}"
        return f"{self.origin}: {what}: {self.law}: {self.reason}"


@dataclass(slots=True)
class Remarks:
    """Collects the remarks of one pass while it runs."""

    optimiser_pass: str
    made: list[Remark] = field(default_factory=list[Remark])

    def applied(self, unit: str, task: str, law: str, reason: str, origin: Origin) -> None:
        """Note a rewrite that was made."""
        self.made.append(Remark(self.optimiser_pass, Verdict.APPLIED, unit, task, law, reason, origin))

    def declined(self, unit: str, task: str, law: str, reason: str, origin: Origin) -> None:
        """Note a rewrite that was not made, and why."""
        self.made.append(Remark(self.optimiser_pass, Verdict.DECLINED, unit, task, law, reason, origin))


class Pass(Protocol):
    """One pass. `run` returns the same object when there was nothing to do."""

    @property
    def name(self) -> str:
        """The name in remarks, traces and the pipeline."""
        ...

    @property
    def requires(self) -> frozenset[Fact]:
        """Facts that an earlier pass must have established."""
        ...

    @property
    def establishes(self) -> frozenset[Fact]:
        """Facts that hold behind this pass."""
        ...

    def run(self, program: Program, remarks: Remarks) -> Program:
        """The rewritten program."""
        ...
