"""Runs operators as no engine would dare to, after Hazelcast Jet's test support.

The engine's own outbox stands before edges that take one batch and then refuse until they are emptied, or that refuse
every second offer; between any two calls the state is saved and a new operator restored from it. `run_unit` runs all
operators of a unit this way, one after the other, on what the task before gave.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from types import ModuleType
from typing import cast

from ghcm.codegen.engines import emit
from ghcm.codegen.native import NATIVE
from ghcm.runtime.contract import (
    INFINITY,
    Clock,
    Context,
    Form,
    Gate,
    Keeper,
    Muted,
    Operator,
    Outbox,
    Publication,
    Table,
    TableReader,
    WallClock,
)
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.engine.host import Host
from ghcm.runtime.engine.tasklet import Counters, Outputs
from ghcm.runtime.engine.watermarks import least_of_partitions
from ghcm.runtime.native.code import SinkCode, TaskCode
from ghcm.runtime.operators import build
from ghcm.spg.connectors import Generate, Memory, Mode
from ghcm.spg.graph import Program, Task, Unit
from ghcm.spg.ops import Reply, Source, To
from ghcm.types import Shape, Struct

__all__ = ["Box", "Given", "Refusal", "drive", "module_of", "run_unit"]


class Refusal(Enum):
    """When an outbox has no room."""

    NEVER = "never"
    ONE_SLOT = "holds one batch"
    EVERY_SECOND = "refuses every second offer"


class Box(Outputs):
    """The outbox of an operator, and everything that went through it."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__("box", (), Counters(), cast("Host", None))
        self.refusal = refusal
        self.items: list[Batch | int] = []
        self.letters: list[DeadLetter] = []
        self.publications: list[Publication] = []
        self.refused = 0
        self._held = False
        self._offers = 0

    def all(self, call: Callable[[Outbox], Iterable[Batch]]) -> None:
        """Take all that one call of an operator gives."""
        self.empty()
        while not self.give(lambda: call(self)):
            self.empty()

    def offer(self, batch: Batch) -> bool:
        self._offers += 1
        full = self._held if self.refusal is Refusal.ONE_SLOT else self._offers % 2 == 1
        if self.refusal is not Refusal.NEVER and full:
            self.refused += 1
            return False
        self._held = True
        if len(batch):
            self.items.append(batch)
        return True

    def empty(self) -> None:
        """Make room again."""
        self._held = False

    def dead(self, letter: DeadLetter) -> None:
        self.letters.append(letter)

    def publish(self, publication: Publication) -> None:
        self.publications.append(publication)


Item = Batch | int
"""A batch, or a watermark."""


def drive(
    make: Callable[[], Operator], inputs: Sequence[Sequence[Item]], refusal: Refusal, *, restores: bool
) -> tuple[Box, dict[str, int], Operator]:
    """Give an operator its inputs in turns; what it gave, and how many records it did in each form."""
    box, counts = Box(refusal), {"rows": 0, "columns": 0}
    operator = make()
    marks = [-(2**63)] * len(inputs)
    watermark = -(2**63)

    def renew() -> None:
        nonlocal operator
        box.all(operator.flush)
        state = operator.save()
        assert all(0 <= group < 128 for group in state)
        _add(counts, operator)
        operator = make()
        operator.restore(state)

    left = [len(items) for items in inputs]
    partitions = frozenset(item.partition for items in inputs for item in items if isinstance(item, Batch))

    def end(ordinal: int) -> None:
        if not left[ordinal] and isinstance(operator, Gate):
            box.all(partial(operator.ended, ordinal))

    for ordinal in range(len(inputs)):
        end(ordinal)
    put_in_place: Callable[[], None] | None = None
    for ordinal, item in _in_turns(inputs):
        left[ordinal] -= 1
        work = operator.upkeep() if isinstance(operator, Keeper) else None
        if isinstance(item, Batch):
            taken: Batch = item
            box.all(lambda outbox: operator.process(ordinal, taken, Muted(outbox) if taken.taken_back else outbox))  # noqa: B023
            if isinstance(operator, Clock):
                box.items.append(least_of_partitions(partitions, operator.watermarks()))
            elif isinstance(operator, WallClock):
                box.items.append(operator.moment())
        else:
            marks[ordinal] = item
            if min(marks) > watermark and not isinstance(operator, Clock):
                watermark = min(marks)
                box.all(partial(operator.advance, watermark))
                box.items.append(watermark)
        end(ordinal)
        if put_in_place is not None:  # of what it kept before it took the item
            put_in_place()
        put_in_place = None if work is None else work()
        if restores:
            put_in_place = None
            renew()
    box.all(partial(operator.advance, INFINITY))
    box.all(operator.finish)
    box.all(operator.flush)
    _add(counts, operator)
    return box, counts, operator


def _add(counts: dict[str, int], operator: Operator) -> None:
    for form, number in getattr(operator, "counts", {}).items():
        counts[form] += number


def _in_turns(inputs: Sequence[Sequence[Item]]) -> Iterator[tuple[int, Item]]:
    for place in range(max(map(len, inputs), default=0)):
        for ordinal, items in enumerate(inputs):
            if place < len(items):
                yield ordinal, items[place]


@dataclass
class Given:
    """What a unit left behind: canonical rows by sink, tables, dead letters, instructions, the reply, records per task
    and form, and what each task gave.
    """

    sinks: dict[str, list[object]] = field(default_factory=dict)
    tables: dict[str, list[tuple[object, object]]] = field(default_factory=dict)
    letters: list[DeadLetter] = field(default_factory=list)
    publications: list[tuple[str, Publication]] = field(default_factory=list)
    reply: list[object] | None = None
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    refused: int = 0
    outputs: dict[str, Sequence[Item]] = field(default_factory=dict)


def module_of(program: Program, unit: Unit) -> ModuleType:
    """The generated module of a unit, compiled in memory."""
    module = ModuleType(f"generated_{unit.name}")
    exec(compile(emit(NATIVE, program, unit).module, f"native/{unit.name}.py", "exec"), module.__dict__)
    return module


def run_unit(  # noqa: PLR0913    each is one way to torture
    program: Program,
    unit: Unit,
    form: Form = "auto",
    *,
    size: int = 3,
    refusal: Refusal = Refusal.NEVER,
    restores: bool = False,
    parameters: Mapping[str, object] | None = None,
    inputs: Mapping[str, Sequence[Item]] | None = None,
    load: Callable[[str], ModuleType] = importlib.import_module,
    module: ModuleType | None = None,
    now: Callable[[], int] | None = None,
    columnar_from: int | None = None,
    unmerged: int | None = None,
) -> Given:
    """Run a unit's operators on its memory sources (and `inputs` by task), batches of `size` records. `module`: its
    generated code, if that has been loaded already. `now`: the clock. `columnar_from`, `unmerged`: as in `Context`.
    """
    tasks: Mapping[str, TaskCode] = (module or module_of(program, unit)).TASKS
    given = Given()
    complete = {each.name: each.default for each in unit.parameters} | dict(parameters or {})
    usual = Context()
    context = Context(
        program.name,
        complete,
        form,
        now or usual.now,
        load,
        rows=max(size, 2),
        columnar_from=usual.columnar_from if columnar_from is None else columnar_from,
        unmerged=usual.unmerged if unmerged is None else unmerged,
    )
    outputs, live = given.outputs, dict[str, Operator]()
    for task in unit.tasks:
        if inputs is not None and task.id in inputs:
            outputs[task.id] = [_some_columns(task, each) for each in inputs[task.id]]
        elif isinstance(task.op, Source):
            outputs[task.id] = _memory(task, size)
        elif isinstance(task.op, To | Reply):
            _end(program, unit, task, tasks.get(task.id), outputs[task.inputs[0].producer], given)
        else:
            taken = [outputs[edge.producer] for edge in task.inputs]
            table = live.get(task.inputs[0].producer)
            box, given.counts[task.id], operator = drive(
                lambda: _built(task, unit, tasks.get(task.id), context, table),  # noqa: B023    called at once
                taken,
                refusal,
                restores=restores,
            )
            outputs[task.id], live[task.id] = box.items, operator
            given.letters += box.letters
            given.publications += [(task.id, each) for each in box.publications]
            given.refused += box.refused
            if task.collection.shape is Shape.TABLE and isinstance(operator, Table):
                given.tables[task.id] = operator.copy()
    return given


def _built(task: Task, unit: Unit, code: TaskCode | None, context: Context, before: object) -> Operator:
    operator = build(task, unit, code, context)
    if isinstance(operator, TableReader):
        assert isinstance(before, Table)
        operator.reads(before)
    return operator


def _memory(task: Task, size: int) -> list[Item]:
    assert isinstance(task.op, Source)
    match task.op.connector:
        case Memory(rows=rows):
            pass
        case Generate(rows=int() as count, start_us=start, step_us=step):
            rows = tuple((number, start + number * step) for number in range(count))
        case other:
            raise AssertionError(f"the harness cannot read {other}")
    pieces = (Batch.from_rows(task.whole, rows[start : start + size]) for start in range(0, len(rows), size))
    return [_some_columns(task, piece) for piece in pieces]


def _some_columns(task: Task, item: Item) -> Item:
    """What a task that reads gives on of what it reads."""
    if not isinstance(item, Batch) or task.whole == task.schema or item.schema != task.whole:
        return item
    if item.columnar:
        return item.with_frame(task.schema, item.frame().select(task.schema.names))
    places = [task.whole.index(name) for name in task.schema.names]
    return item.with_rows(task.schema, [tuple([row[place] for place in places]) for row in item.rows()])


def _end(program: Program, unit: Unit, task: Task, code: TaskCode | None, items: Sequence[Item], given: Given) -> None:
    element = unit.task(task.inputs[0].producer).collection.element
    width = len(element.fields) if isinstance(element, Struct) else 1
    batches = [item for item in items if isinstance(item, Batch)]
    rows = [row[:width] for batch in batches for row in batch.rows()]
    found: list[object] = [row if isinstance(element, Struct) else row[0] for row in rows]
    if isinstance(task.op, Reply):
        given.reply = [*(given.reply or ()), *found]
        return
    assert isinstance(task.op, To)
    sink = program.sink(task.op.sink)
    kept = given.sinks.setdefault(sink.name, [])
    if not isinstance(code, SinkCode) or code.key is None or sink.mode is Mode.APPEND:
        kept.extend(found)
        return
    by_key: dict[str, object] = {}
    gone = [batch.taken_back for batch in batches for _ in batch.rows()]
    for row, value, leaves in zip(rows, found, gone, strict=True):
        if not leaves:
            by_key[repr(code.key(row))] = value
        elif repr(by_key.get(repr(code.key(row)))) == repr(value):  # else another row has its key by now
            del by_key[repr(code.key(row))]
    kept.extend(by_key.values())
