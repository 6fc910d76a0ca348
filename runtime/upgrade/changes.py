"""What an edit of a program comes to: its changes part by part, and what keeps a program that runs from taking it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from ghcm.errors import GhcmError
from ghcm.source import Origin

Since = Mapping[str, Mapping[str, int]]
"""By unit and policy the version of the program in which the policy began; what is not named began with the first."""


class Kind(Enum):
    """What becomes of a part."""

    KEPT = "kept"
    ADDED = "added"
    SWAPPED = "swapped"
    DROPPED = "dropped"


class Part(Enum):
    """What a program consists of, as far as it is kept, added, swapped or dropped as a whole."""

    UNIT = "unit"
    POLICY = "policy"
    SINK = "sink"
    CACHE = "cache"


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one part. `unit`: the unit of a policy, else empty; `note`: what a user should know of it."""

    kind: Kind
    part: Part
    name: str
    note: str = ""
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something that cannot be changed while the program runs, and where it stands. `resumable`: it can be once the
    program has stopped, and no state is lost.
    """

    message: str
    origin: Origin | None = None
    resumable: bool = False

    def __str__(self) -> str:
        return self.message if self.origin is None else f"{self.message} ({self.origin})"


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The changes from one version of a program to another, and the obstacles to making them while it runs."""

    changes: tuple[Change, ...]
    obstacles: tuple[Obstacle, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether the versions are the same."""
        return not self.obstacles and all(change.kind is Kind.KEPT for change in self.changes)

    def since(self, before: Since, version: int) -> dict[str, dict[str, int]]:
        """In which version each policy began, given that before: one that is not kept as it was begins with this
        version.
        """
        found: dict[str, dict[str, int]] = {}
        for change in self.changes:
            if change.part is not Part.POLICY or change.kind is Kind.DROPPED:
                continue
            began = before.get(change.unit, {}).get(change.name, 1) if change.kind is Kind.KEPT else version
            if began > 1:
                found.setdefault(change.unit, {})[change.name] = began
        return found

    def document(self) -> dict[str, object]:
        """As JSON."""
        changes = [
            {
                "change": each.kind.value,
                "part": each.part.value,
                "unit": each.unit,
                "name": each.name,
                "note": each.note,
            }
            for each in self.changes
        ]
        obstacles = [
            {"message": each.message, "place": each.origin and str(each.origin), "resumable": each.resumable}
            for each in self.obstacles
        ]
        return {"changes": changes, "obstacles": obstacles}

    def refusal(self, program: str, job: str) -> GhcmError:
        """The error that says why the edit cannot be taken while the job runs."""
        told = "; ".join(str(each) for each in self.obstacles)
        resumable = all(each.resumable for each in self.obstacles)
        way = (
            f"ghcm stop {program}, then ghcm submit --resume goes on from its last snapshot."
            if resumable
            else f"ghcm stop {program}, then ghcm submit --fresh reads everything again; or undo that part of the edit."
        )
        return GhcmError(
            f'program "{program}" runs as job "{job}", and this edit needs more than it can take while it runs',
            code="GHCM-608",
            detail=f"{told[:1].upper()}{told[1:]}.",
            hint=f"responsive units and publish policies can be changed in a running program; for the rest, {way}",
        )
