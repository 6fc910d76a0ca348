"""Call ordering: calls of units that write the same latest state run one after another, in the order of acceptance.

What such a call writes replaces what earlier ones wrote, so an older call that ended last would bring back old state.
The call store has the order; deliveries only wait here. Calls of other units run beside each other.
"""

from collections.abc import Collection
from threading import Lock
from typing import Generic, TypeVar

from ghcm.runtime.jobs.calls import CallStore
from ghcm.runtime.pubsub.envelope import Instruction
from ghcm.spg.connectors import Mode
from ghcm.spg.graph import Program, Unit
from ghcm.spg.ops import To

T = TypeVar("T")


class SerialQueue(Generic[T]):
    """What waits for its turn, by call; one is at work at a time. `units` are those that take turns. Without a
    store of `calls` (unit tests) they come as they were delivered. All methods may be called from several threads.
    """

    def __init__(self, calls: CallStore | None, program: str, units: Collection[str]) -> None:
        self.units = units
        self._calls = calls
        self._program = program
        self._waiting: dict[str, T] = {}
        self._at_work: str | None = None
        self._lock = Lock()

    def join(self, instruction: Instruction, item: T) -> None:
        """Wait for the turn of this call. What waits for it already stays."""
        if self._calls is not None:
            self._calls.accept(instruction)
        with self._lock:
            self._waiting.setdefault(instruction.id, item)

    def step(self) -> T | None:
        """What is to be worked on now, until `leave`. None while another is at work, or while the call whose turn it
        is has not come here: a later `step` finds it.
        """
        with self._lock:
            if self._at_work is not None or not self._waiting:
                return None
            self._at_work = self._next()
            return None if self._at_work is None else self._waiting.pop(self._at_work)

    @property
    def held_up(self) -> bool:
        """Whether any waits: behind a call that is elsewhere, whose end nobody here is told of, or behind one that is
        at work here, when the next may be elsewhere.
        """
        with self._lock:
            return bool(self._waiting)

    @property
    def in_use(self) -> bool:
        """Whether its calls take turns, or one still has the turn that it took when they did."""
        with self._lock:
            return bool(self.units) or self._at_work is not None

    def leave(self, id: str) -> None:
        """This call is over; nothing happens where it had no turn."""
        with self._lock:
            if self._at_work == id:
                self._at_work = None

    def _next(self) -> str | None:
        oldest = next(iter(self._waiting))
        if self._calls is None or not self.units:  # upgraded to a program in which they need no turn any more
            return oldest
        first = self._calls.first_open(self._program, self.units)
        if first in self._waiting:
            return first
        # One that was cancelled or has expired meanwhile has no turn, but has to be acknowledged.
        return oldest if self._calls.answered(oldest) else None


def serialized_with(program: Program, unit: Unit) -> frozenset[str]:
    """The units of which one call runs at a time, this one among them: those that write, together or over others, one
    sink that keeps the latest (replace, upsert). Empty where calls of the unit may run beside each other.
    """
    kept = {each.name: _kept(program, each) for each in program.units if each.responsive or each.kind == "batch"}
    sinks, found = set(kept.get(unit.name, ())), frozenset({unit.name})
    if not sinks:
        return frozenset()
    while more := {name for name, written in kept.items() if name not in found and written & sinks}:
        found |= more
        sinks.update(*(kept[name] for name in more))
    return found


def _kept(program: Program, unit: Unit) -> frozenset[str]:
    written = {task.op.sink for task in unit.tasks if isinstance(task.op, To)}
    return frozenset(name for name in written if program.sink(name).mode in (Mode.REPLACE, Mode.UPSERT))
