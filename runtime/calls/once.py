"""One run of a unit that ends, in the caller's own thread: without msg cache, call store or process."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ghcm.runtime.calls.run import CallRun, Outcome
from ghcm.runtime.contract import Form
from ghcm.runtime.engine.scheduler import Scheduler
from ghcm.runtime.engine.services import Compiled, Services
from ghcm.runtime.operators import build
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import Instruction, new_id


def run_once(
    compiled: Compiled,
    unit: str,
    connections: Connections,
    state: Path,
    parameters: Mapping[str, object] | None = None,
    *,
    call: str | None = None,
    form: Form = "auto",
) -> Outcome:
    """What came of the run: its sinks are committed as versions of this `call`. `parameters` as JSON has them;
    GhcmError where they do not fit. `state`: a folder for what outlives a step.
    """
    scheduler = Scheduler(tame_collector=True, prompt=False)
    return run_with(
        Services(compiled, connections, scheduler, build, "once", state, state, form), unit, parameters, call
    )


def run_with(
    services: Services, unit: str, parameters: Mapping[str, object] | None = None, call: str | None = None
) -> Outcome:
    """The same with services of the caller's, whose scheduler runs until the unit has ended."""
    scheduler, found = services.scheduler, list[Outcome]()
    instruction = Instruction(call or new_id(), services.program.name, unit, parameters or {})

    def done(outcome: Outcome) -> None:
        found.append(outcome)
        scheduler.stop()

    run = CallRun(instruction, services.program.unit(unit), services, lambda _unit, _table: 0, done)
    scheduler.post(run.start)
    scheduler.run()
    (outcome,) = found
    return outcome
