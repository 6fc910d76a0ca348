"""Swaps the publish policies of units that run when their program becomes another version.

What changes is made ready before anything is touched (`unit_swaps`). Policies are taken out of a graph and put into it
in the loop's thread, between two steps, while the unit is quiesced (`SnapshotCoordinator.quiesce`). A policy gives
nothing on, so the tasks around it notice nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from ghcm.errors import GhcmError
from ghcm.runtime.contract import NEVER, Operator
from ghcm.runtime.engine.edge import Edge, Watermark
from ghcm.runtime.engine.host import Host
from ghcm.runtime.engine.services import Services
from ghcm.runtime.engine.tasklet import OperatorTasklet
from ghcm.runtime.engine.wiring import Graph
from ghcm.runtime.upgrade.compare import policies, without_policies
from ghcm.spg.graph import Task, Unit


def drop(graph: Graph, name: str) -> None:
    """Take a policy out."""
    tasklet = graph.operators.pop(name)
    tasklet.close()
    for producer in graph.producers:
        for edge in tasklet.edges:
            producer.outbox.detach(edge)


def add(graph: Graph, task: Task, operator: Operator, host: Host) -> bool:
    """Put a policy behind the task that it reads; whether that task had ended, so that nothing will come."""
    [input_] = task.inputs
    producer = graph.sources.get(input_.producer) or graph.operators[input_.producer]
    edge = Edge()
    tasklet = OperatorTasklet(task.id, operator, [edge], [], host)
    edge.wake_receiver = partial(host.scheduler.wake, tasklet)
    edge.wake_sender = partial(host.scheduler.wake, producer)
    graph.operators[task.id] = tasklet
    if producer.ended:
        tasklet.close()
        return True
    producer.outbox.attach(edge)
    if isinstance(producer, OperatorTasklet) and producer.watermark > NEVER:
        edge.offer(Watermark(producer.watermark))  # what closed before it began is not for it to wait for
    return False


@dataclass(frozen=True, slots=True)
class UnitSwap:
    """What becomes of a unit: itself in the new version, the policies that go, and the operators of those that come."""

    unit: Unit
    dropped: tuple[str, ...]
    added: Mapping[str, Operator]

    @property
    def changes(self) -> bool:
        """Whether it has to be quiesced for it."""
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
