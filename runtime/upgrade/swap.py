"""What changes in each unit when its program becomes another version; made ready before anything is touched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ghcm.errors import GhcmError
from ghcm.runtime.engine.operator import Operator
from ghcm.runtime.engine.services import Services
from ghcm.runtime.upgrade.compare import policies, without_policies
from ghcm.spg.graph import Unit


@dataclass(frozen=True, slots=True)
class UnitSwap:
    """What becomes of a unit: itself in the new version, the policies that go, and the operators of those that come."""

    unit: Unit
    dropped: tuple[str, ...]
    added: Mapping[str, Operator]

    @property
    def changes(self) -> bool:
        """Whether it has to rest for it."""
        return bool(self.dropped or self.added)


def unit_swaps(units: Iterable[Unit], before: Services, after: Services) -> dict[str, UnitSwap]:
    """What becomes of these units, by name. GhcmError where their code cannot be loaded, or more than policies differs,
    which whoever compares programs should have refused.
    """
    return {unit.name: _swap(unit, before, after) for unit in units}


def _swap(old: Unit, before: Services, after: Services) -> UnitSwap:
    new = after.program.unit(old.name)
    if without_policies(old) != without_policies(new):
        raise GhcmError(f'unit "{old.name}" cannot be changed while it runs', code="GHCM-608")
    was, is_ = policies(old), policies(new)
    kept = {name for name in is_ if name in was and before.began(old.name, name) == after.began(old.name, name)}
    added = {name: after.operator(task, new, {}) for name, task in is_.items() if name not in kept}
    return UnitSwap(new, tuple(name for name in was if name not in kept), added)
