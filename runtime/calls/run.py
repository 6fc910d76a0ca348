"""One call of a unit: its parameters, its small graph, run within the slot, and its answer.

Not here: how instructions arrive and answers leave (`responder`). A call keeps no state, so a repeated one starts anew.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ghcm.errors import GhcmError
from ghcm.runtime.calls.input_size import refuse_other_engine
from ghcm.runtime.contract import Publication
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.engine.host import Saved
from ghcm.runtime.engine.services import Services
from ghcm.runtime.engine.unit_failure import unit_failure
from ghcm.runtime.engine.wiring import Graph, Running, wire
from ghcm.runtime.jobs.calls import CallStore
from ghcm.runtime.operators.iterate import IterateOperator
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, SinkVersion, State
from ghcm.spg.graph import Program, Task, Unit
from ghcm.spg.ops import ReadTable
from ghcm.values import from_json

_TELLS_S = 1.0
_MOST = 0.99
"""What is read is not yet written."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a call: the reply's rows with the task that gave them, sinks, dead letters, freshness; or the
    error. `program`: what it ran.
    """

    rows: Sequence[Row] = ()
    reply: Task | None = None
    sinks: Mapping[str, SinkVersion] | None = None
    dead_letters: Sequence[DeadLetter] = ()
    publications: Sequence[tuple[str, Publication]] = ()
    as_of: int | None = None
    seconds: float = 0.0
    error: GhcmError | None = None
    program: Program | None = None
    rounds: Mapping[str, int] = field(default_factory=dict[str, int])


class CallRun:
    """A running call. `watermark_of` gives the watermark of a table that is read; `done` is called once."""

    keeps_state = False

    def __init__(
        self,
        instruction: Instruction,
        unit: Unit,
        services: Services,
        watermark_of: Callable[[str, str], int],
        done: Callable[[Outcome], None],
    ) -> None:
        """GhcmError where the parameters do not fit, or another engine is asked for."""
        refuse_other_engine(unit.name, unit.engines, instruction.engine)
        self.id = instruction.id
        self.unit = unit
        self.scheduler = services.scheduler
        self._parameters = _read_parameters(unit, instruction.parameters)
        self._versions = instruction.versions
        self._services = services
        self._watermark_of = watermark_of
        self._done: Callable[[Outcome], None] | None = done
        self._graph = Graph()
        self._left: set[str] = set()
        self._dead_letters: list[DeadLetter] = []
        self._publications: list[tuple[str, Publication]] = []
        self._sinks: dict[str, SinkVersion] = {}
        self._as_of: int | None = None
        self._started = time.perf_counter()
        self._tells_next = 0.0

    def _version(self, snapshot: int, task: str) -> str:
        return self.id

    def start(self) -> None:
        """Build the graph and let it run."""
        try:
            self._graph = wire(
                Running(self.unit, self._services, self, self._version, self.id, self._parameters, self._versions)
            )
            self._left = self._graph.names
            reads = [task.op for task in self.unit.tasks if isinstance(task.op, ReadTable)]
            self._as_of = min((self._watermark_of(op.unit, op.task) for op in reads), default=None)
            for sink in self._graph.sinks.values():
                sink.open(None, lambda: None)
            for source in self._graph.sources.values():
                source.open()
        except Exception as error:  # whatever stands in the way ends this call only
            self.failed("start", error)

    def cancel(self, error: GhcmError) -> None:
        """End now with this error."""
        self._finish(Outcome(error=error))

    def join(self, deadline: float) -> None:
        """Wait until the writers of a call that has ended are closed, or for the deadline (monotonic clock); not in
        the loop.
        """
        for sink in self._graph.sinks.values():
            sink.worker.join(deadline)

    def tell(self, calls: CallStore) -> bool:
        """Note about once a second how far it is; whether the call has its answer already. Beside the loop."""
        now = time.monotonic()
        if now < self._tells_next:
            return calls.answered(self.id)
        self._tells_next = now + _TELLS_S
        sources = list(self._graph.sources.values())
        shares = [each.share() for each in sources]
        known = [each for each in shares if each is not None]
        share = min(known) if known and len(known) == len(shares) else 0.0
        rows = sum(each.counters.given for each in sources)
        feedback = Feedback(self.id, State.PROGRESS, min(share, _MOST), f"{rows:,} rows read")
        return not calls.progress(self.id, feedback)

    def mark_dirty(self) -> None:
        """A call takes no snapshots."""

    def dead(self, letter: DeadLetter) -> None:
        """Those of a call are few; they come with what its tasklets save."""

    def acknowledge(self, name: str, snapshot: int, saved: Saved) -> None:
        """A sink has prepared its version."""
        if self._done is None:  # broken off meanwhile
            return
        sink = self._graph.sinks[name]

        def committed() -> None:
            if saved.version is not None:
                before = self._sinks.get(sink.sink, SinkVersion(saved.version))
                self._sinks[sink.sink] = SinkVersion(saved.version, before.rows + saved.rows)
            self._left.discard(name)
            self._perhaps_finish()

        sink.commit(saved.version, committed)

    def finished(self, name: str, saved: Saved) -> None:
        """A tasklet has ended; sinks commit when everything else has."""
        self._dead_letters += saved.letters
        self._publications += saved.publications
        if name not in self._graph.sinks:
            self._left.discard(name)
        if all(left in self._graph.sinks and self._graph.sinks[left].ended for left in self._left):
            for left in self._left:
                self._graph.sinks[left].prepare(0)
        self._perhaps_finish()

    def failed(self, task: str, error: Exception) -> None:
        """A part of the call cannot go on."""
        self._finish(Outcome(error=unit_failure(self.unit, task, error, self._services.compiled.line)))

    def _perhaps_finish(self) -> None:
        if self._left:
            return
        reply = next(iter(self._graph.replies.values()), None)
        self._finish(
            Outcome(
                rows=reply.rows if reply is not None else (),
                reply=self.unit.task(reply.name) if reply is not None else None,
                sinks=self._sinks,
                dead_letters=self._dead_letters,
                publications=self._publications,
                as_of=self._as_of,
                seconds=time.perf_counter() - self._started,
                program=self._services.program,
                rounds=self._rounds(),
            )
        )

    def _rounds(self) -> dict[str, int]:
        """How many rounds each iteration of the call took."""
        operators = {name: each.operator for name, each in self._graph.operators.items()}
        return {name: each.rounds for name, each in operators.items() if isinstance(each, IterateOperator)}

    def _finish(self, outcome: Outcome) -> None:
        done, self._done = self._done, None
        if done is None:
            return
        # The tasklets know the call. The collector does not run often enough to find the circles of all calls.
        graph, self._graph = self._graph, Graph()
        graph.close()
        done(outcome)


def _read_parameters(unit: Unit, given: Mapping[str, object]) -> dict[str, object]:
    """Canonical values of all parameters, defaults included; GhcmError says what does not fit."""
    names = {parameter.name for parameter in unit.parameters}
    for name in given:
        if name not in names:
            raise _wrong(unit, f'it has no parameter "{name}"')
    values: dict[str, object] = {}
    for parameter in unit.parameters:
        if parameter.name in given:
            try:
                values[parameter.name] = from_json(given[parameter.name], parameter.type)
            except ValueError as error:
                raise _wrong(unit, f'parameter "{parameter.name}": {error}') from None
        elif parameter.required:
            raise _wrong(unit, f'parameter "{parameter.name}" is missing')
        else:
            values[parameter.name] = parameter.default
    return values


def _wrong(unit: Unit, what: str) -> GhcmError:
    known = ", ".join(f'"{parameter.name}"' for parameter in unit.parameters)
    detail = f"Its parameters are {known}." if known else "It has none."
    return GhcmError(f'cannot call unit "{unit.name}": {what}', code="GHCM-320", detail=detail)
