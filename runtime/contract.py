"""The contract between the engine and the operators: what a task does with batches, watermarks and snapshots, without
knowing where it runs.

An operator never blocks, never starts threads and never knows whether there is room: it gives batches one by one, and
the engine asks for the next when somebody takes it, and for nothing else before. Here stand no operators;
`ghcm.runtime.operators.build` makes one from a task.
"""

import importlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.types import INT_MAX, INT_MIN

NEVER, INFINITY = INT_MIN, INT_MAX
"""The watermarks before any record and after the last: no window has closed, every window has closed."""

Form: TypeAlias = Literal["auto", "rows", "columns"]


@dataclass(frozen=True, slots=True)
class Publication:
    """An instruction that a policy wants sent once the commit is through that holds its records.

    `arguments` are canonical values by parameter name. `sequence` counts this policy's publications from 0; with unit
    and task it gives the instruction's id, so a recovery repeats the same call. The engine adds the versions of the
    sinks.
    """

    unit: str
    arguments: Mapping[str, object]
    sequence: int
    after: str | None


class Outbox(Protocol):
    """Where an operator puts what it gives besides batches."""

    def dead(self, letter: DeadLetter) -> None:
        """Take a failed record."""

    def publish(self, publication: Publication) -> None:
        """Take an instruction to be sent after the next commit. Only `Publish` does this."""


@dataclass(frozen=True, slots=True)
class Muted:
    """An outbox for records that are taken back: those that fail have failed before, when they were given."""

    outbox: Outbox

    def dead(self, letter: DeadLetter) -> None:
        """As `Outbox.dead`: nothing."""

    def publish(self, publication: Publication) -> None:
        """As `Outbox.publish`."""
        self.outbox.publish(publication)


@runtime_checkable
class Operator(Protocol):
    """One task at work. `process`, `advance`, `flush` and `finish` give batches, made as they are asked for; before the
    last, nothing else is called but `copy`. Empty ones are dropped. An operator inherits what it has nothing to do for.

    Several inputs are told apart by `ordinal`, the position in `task.inputs`. Batches of one partition arrive in
    order. What regroups its input (aggregations, joins, sort, top, distinct) gives batches of partition "";
    everything else keeps the partition of its input, and so does what is made of records that are taken back
    (`ghcm.runtime.data.batch.TAKEN_BACK`). May have `counts: dict[str, int]` with "rows" and "columns":
    records handled in each form.
    """

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        """Take a batch of one partition of input `ordinal`."""
        ...

    def advance(self, watermark: int, outbox: Outbox) -> Iterable[Batch]:
        """The watermark (minimum over all inputs and partitions) has moved to this value: close what it closes.
        INFINITY comes before `finish`.
        """
        return ()

    def flush(self, outbox: Outbox) -> Iterable[Batch]:
        """A commit is near: give what readers of the sinks should see with it (tables: the latest value of each key
        that changed). Called right before `save`.
        """
        return ()

    def finish(self, outbox: Outbox) -> Iterable[Batch]:
        """All inputs have ended: give what is left. Nothing is called afterwards but `flush`, `save` and `copy`."""
        return ()

    def save(self) -> Mapping[int, bytes]:
        """The state by key group, to be given to `restore` of a new operator of the same task. Stateless: empty.
        State without a key is in group 0. What is kept in frames comes as runs (`ghcm.runtime.state.runs`).
        """
        return {}

    def restore(self, state: Mapping[int, bytes]) -> None:
        """Take saved key groups, before anything else is called; several times where several instances have saved:
        disjoint ones of keyed state, and what each knew of anything else.
        """
        del state  # what saves nothing takes nothing


@runtime_checkable
class Clock(Protocol):
    """What an `EventTime` operator also offers."""

    def watermarks(self) -> Mapping[str, int]:
        """By partition: its watermark behind the last record processed (restored with the state); a partition without
        records may be missing.
        """
        ...


@runtime_checkable
class Idler(Clock, Protocol):
    """What a `Clock` also offers if silent partitions may go on with others (see `ghcm.runtime.engine.watermarks`)."""

    def silent(self) -> frozenset[str]:
        """The partitions of which nothing has come for so long, as far as was looked: nobody waits for them."""
        ...

    def idle(self) -> frozenset[str]:
        """Those of them that are idle beyond doubt: they follow the others."""
        ...

    def look(self, open_partitions: frozenset[str]) -> None:
        """Find out which of these have become idle; told at each barrier, when all that came before it is processed."""

    def follow(self, partition: str, watermark: int) -> None:
        """The watermark of an idle partition is this at least."""


@runtime_checkable
class WallClock(Protocol):
    """What an `ArrivalTime` operator also offers."""

    def moment(self) -> int:
        """The watermark behind it: the time of the unit's clock (see `Context.now`), which never goes back."""
        ...


@runtime_checkable
class Gate(Protocol):
    """What an operator offers of which one input has to wait for the end of another."""

    def holds(self, ordinal: int) -> bool:
        """Whether nothing should be taken from that input now. What comes all the same (up to a barrier) it keeps."""
        ...

    @property
    def holding(self) -> bool:
        """Whether it keeps records that came before their time, so that event time must not go on behind it."""
        ...

    def ended(self, ordinal: int, outbox: Outbox) -> Iterable[Batch]:
        """Input `ordinal` has ended; told again after a recovery."""
        ...


@runtime_checkable
class Table(Protocol):
    """What an aggregation whose collection is a `Table`, or that is named, also offers."""

    def copy(self, key: object = None) -> list[tuple[object, object]]:
        """The pairs of its present state, canonical; with a `key` that is not None only that pair, or none."""
        ...


@runtime_checkable
class ColumnarTable(Table, Protocol):
    """A table that may have its pairs in columns."""

    def whole(self) -> Iterable[Batch] | None:
        """All pairs of its present state in columns; None where some are rows, or their values cannot be given so."""
        ...


Upkeep: TypeAlias = Callable[[], Callable[[], None]]
"""Work that looks at nothing that changes, and gives what puts its result in place."""


@runtime_checkable
class Keeper(Protocol):
    """What an operator also offers that has work for others beside its own."""

    def upkeep(self) -> Upkeep | None:
        """What should be done now with what it keeps, on any thread; what that gives is to be called between two calls
        of the operator. None where nothing is to be done, or the last was not put in place yet.
        """
        ...


@runtime_checkable
class Hoarder(Protocol):
    """What an operator also offers that now and then goes through all that it keeps, which takes longer than what it
    does with a batch.
    """

    def gathers(self, rows: int) -> bool:
        """Whether it will, with a batch of so many records."""
        ...

    def closes(self, watermark: int) -> bool:
        """Whether it will, when event time goes on to this."""
        ...


@runtime_checkable
class Asking(Protocol):
    """What an operator also offers that asks others and waits for them: `process` is called on a thread of its own, and
    nothing else is called meanwhile but `close`.
    """

    def close(self) -> None:
        """Ask nobody any more, and have `process` end with an error; does not wait."""


@runtime_checkable
class TableReader(Protocol):
    """What an operator also offers that reads the table before it, where it stands, and not what that gives on."""

    def reads(self, table: Table) -> None:
        """Take the table, before anything else is called."""


@runtime_checkable
class Timer(Protocol):
    """What an operator offers that has to be flushed by the clock even if no record comes (`publish(every = 10s)`)."""

    def due(self) -> int | None:
        """The time (microseconds since 1970, see `Context.now`) at which `flush` should be called, or None."""


@dataclass(frozen=True, slots=True)
class Context:
    """What an operator may know of the run it is part of. `parameters`: canonical values by name, complete with
    defaults.

    `load` gives the user's Python module of a name, `connections` (`ghcm.runtime.pubsub.connections`) what is outside.
    `rows` is the most rows that an emitted batch should have; what groups give in columns has up to eight times as
    many. From `columnar_from` records on the columnar form is taken to be faster. `unmerged` rows of groups wait to be
    merged, and twice as many more as the last merge gave.
    """

    program: str = ""
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    form: Form = "auto"
    now: Callable[[], int] = lambda: time.time_ns() // 1000
    load: Callable[[str], ModuleType] = importlib.import_module
    connections: object = None
    rows: int = 8192
    groups: int = 128
    columnar_from: int = 256
    unmerged: int = 32_768

    def function(self, module: str, name: str) -> Callable[[object], object]:
        """A Python function of the user's."""
        found: Callable[[object], object] = getattr(self.load(module), name)
        return found
