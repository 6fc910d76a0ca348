"""Small programs with hand-written operators, so that the engine is tested without a compiler."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from ghcm.expr import Lambda, Literal, Var
from ghcm.functions import Failure
from ghcm.runtime.contract import NEVER, Context, Operator, Outbox, Publication
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.native.code import TaskCode
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.source import Origin
from ghcm.spg.connectors import Files, Format, Mode
from ghcm.spg.graph import Forward, Input, Parameter, Program, Sink, Task, Unit
from ghcm.spg.ops import AggregateByKey, Count, Distinct, EventTime, Filter, Op, Publish, Source, To, Window
from ghcm.spg.windows import Tumbling
from ghcm.types import WINDOW, Bool, Collection, Field, Int, Shape, String, Struct, Timestamp, Type, pair_of
from tests.redis_server import connected

HERE = Origin("test.istream", 1, 1)
LINE = Struct((Field("text", String()), Field("file", String()), Field("number", Int())), "Line")
NUMBERED = Struct((Field("number", Int()), Field("time", Timestamp())), "Numbered")
EVENT = Struct((Field("at", Timestamp()), Field("key", String())), "Event")
COUNTED = pair_of(String(), Int())
WINDOWED = Struct((*COUNTED.fields, Field("window", WINDOW)))
_X = Lambda((Var("x", Int()),), Literal(True, Bool()))


def task(id: str, op: Op, element: Type, *inputs: str, shape: Shape = Shape.STREAM, timed: bool = False) -> Task:
    edges = tuple(Input(each, Forward()) for each in inputs)
    return Task(id, op, edges, Collection(shape, element, True, timed), HERE, named=True)


def unit(name: str, *tasks: Task, responsive: bool = False, parameters: tuple[Parameter, ...] = ()) -> Unit:
    return Unit(name, "stream", responsive, parameters, None, tasks, HERE)


def sink(name: str, path: str, element: Type, mode: Mode = Mode.APPEND) -> Sink:
    return Sink(name, Files(path, Format("json")), mode, None, element, HERE)


@dataclass
class Compiled:
    """A program whose tasks are run by the operators of this module."""

    plan: Program

    def line(self, origin: Origin) -> str:
        return ""

    def unit_module(self, unit: str) -> ModuleType:
        module = ModuleType(unit)
        module.TASKS = {}  # type: ignore[attr-defined]
        return module

    def load(self, name: str) -> ModuleType:
        raise AssertionError(name)


class Rows(Operator):
    """A row operation; subclasses say what to do with a batch."""

    def __init__(self, schema: Struct) -> None:
        self.schema = schema

    def work(self, batch: Batch, outbox: Outbox) -> Batch:
        return batch

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        return [self.work(batch, outbox)]


class Words(Rows):
    """Lines into words; the word "bad" fails."""

    def work(self, batch: Batch, outbox: Outbox) -> Batch:
        words: list[Row] = []
        for line, *_ in batch.rows():
            for word in str(line).split():
                if word == "bad":
                    outbox.dead(DeadLetter("test", "words", Failure.BAD_CAST, "", json.dumps(line), str(HERE)))
                else:
                    words.append((word,))
        return batch.with_rows(self.schema, words)


class Times(Rows):
    """Event time from the first column."""

    def __init__(self, schema: Struct, disorder: int) -> None:
        super().__init__(schema)
        self._disorder = disorder
        self._marks: dict[str, int] = {}

    def watermarks(self) -> Mapping[str, int]:
        return self._marks

    def work(self, batch: Batch, outbox: Outbox) -> Batch:
        mark = self._marks.get(batch.partition, NEVER)
        rows: list[Row] = []
        for row in batch.rows():
            moment = row[0]
            assert isinstance(moment, int)
            rows.append((*row, moment, mark))
            mark = max(mark, moment - self._disorder)
        self._marks[batch.partition] = mark
        return Batch.from_rows(self.schema, rows, timed=True, partition=batch.partition)

    def save(self) -> Mapping[int, bytes]:
        return {0: pickle.dumps(self._marks)}

    def restore(self, state: Mapping[int, bytes]) -> None:
        self._marks = pickle.loads(state[0])


class Windows(Rows):
    """Tumbling windows; late records fail."""

    def __init__(self, schema: Struct, size: int) -> None:
        super().__init__(schema)
        self._size = size

    def work(self, batch: Batch, outbox: Outbox) -> Batch:
        rows: list[Row] = []
        for row in batch.rows():
            moment, mark = row[-2], row[-1]
            assert isinstance(moment, int) and isinstance(mark, int)
            start = moment - moment % self._size
            if start + self._size <= mark:
                outbox.dead(DeadLetter("test", "window", Failure.LATE, "", json.dumps(row[:-2]), str(HERE)))
            else:
                rows.append((row[1], 1, (start, start + self._size), moment, mark))
        return Batch.from_rows(self.schema, rows, timed=True, partition=batch.partition)


class Counts(Rows):
    """Counts per first column (and window): at the end of the window, at the end of the input, or as a table."""

    def __init__(self, schema: Struct, *, windowed: bool = False, table: bool = False) -> None:
        super().__init__(schema)
        self._windowed = windowed
        self._table = table
        self._counts: dict[tuple[object, ...], int] = {}
        self._changed: dict[tuple[object, ...], None] = {}

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        for row in batch.rows():
            key = (row[2], row[0]) if self._windowed else (row[0],)
            self._counts[key] = self._counts.get(key, 0) + 1
            self._changed[key] = None
        return ()

    def advance(self, watermark: int, outbox: Outbox) -> Iterable[Batch]:
        if not self._windowed:
            return ()
        ripe = [key for key in self._counts if key[0][1] <= watermark]  # type: ignore[index]
        closed = [(key[1], self._counts.pop(key), key[0], key[0][1] - 1, NEVER) for key in sorted(ripe)]  # type: ignore[index]
        return self._given(closed, timed=True)

    def flush(self, outbox: Outbox) -> Iterable[Batch]:
        if not self._table:
            return ()
        changed, self._changed = self._changed, {}
        return self._given([(key[0], self._counts[key]) for key in changed])

    def finish(self, outbox: Outbox) -> Iterable[Batch]:
        if self._table or self._windowed:
            return ()
        return self._given([(key[0], count) for key, count in self._counts.items()])

    def _given(self, rows: Sequence[Row], timed: bool = False) -> list[Batch]:
        return [Batch.from_rows(self.schema, rows, timed=timed)]

    def save(self) -> Mapping[int, bytes]:
        return {0: pickle.dumps((self._counts, self._changed))}

    def restore(self, state: Mapping[int, bytes]) -> None:
        self._counts, self._changed = pickle.loads(state[0])

    def copy(self, key: object = None) -> list[tuple[object, object]]:
        pairs = [(name[0], count) for name, count in self._counts.items()]
        return [pair for pair in pairs if key is None or pair[0] == key]


class Calls(Rows):
    """A policy: calls `unit` every so many records with their number so far."""

    def __init__(self, schema: Struct, unit: str, every: int) -> None:
        super().__init__(schema)
        self._unit = unit
        self._every = every
        self._seen = 0

    def work(self, batch: Batch, outbox: Outbox) -> Batch:
        for _ in batch.rows():
            self._seen += 1
            if self._seen % self._every == 0:
                outbox.publish(Publication(self._unit, {"seen": self._seen}, self._seen // self._every - 1, None))
        return batch.slice(0, 0)

    def save(self) -> Mapping[int, bytes]:
        return {0: str(self._seen).encode()}

    def restore(self, state: Mapping[int, bytes]) -> None:
        self._seen = int(state[0])


def build(task: Task, unit: Unit, code: TaskCode | None, context: Context) -> Operator:
    """The operators above by task id and op."""
    match task.op:
        case Filter():
            return Words(task.schema) if task.id == "words" else Rows(task.schema)
        case EventTime(disorder_us=disorder):
            return Times(task.schema, disorder or 0)
        case Window(assigner=Tumbling(size_us=size)):
            return Windows(task.schema, size)
        case AggregateByKey():
            return Counts(task.schema, windowed=True)
        case Count():
            return Counts(task.schema)
        case Distinct():
            return Counts(task.schema, table=True)
        case Publish(call=call, policy=policy):
            return Calls(task.schema, call.unit, policy.every_records or 1)
        case _:
            raise AssertionError(task.op)


WORD = Struct((Field("value", String()),))


def word_count(path: str, out: str = "out") -> Program:
    """Counts the words of text files, at the end."""
    return Program(
        "small",
        (),
        (sink("counts", out, COUNTED), sink("lines", f"{out}-words", WORD)),
        (
            unit(
                "main",
                task("lines", Source(Files(path, Format("text"))), LINE),
                task("words", Filter(_X), WORD, "lines"),
                task("counted", Count(), COUNTED, "words", shape=Shape.PAIRS),
                task("to_counts", To("counts"), COUNTED, "counted"),
                task("to_lines", To("lines"), WORD, "words"),
            ),
        ),
    )


def windows(path: str, *, disorder: int = 0) -> Program:
    """Counts events per key and window of 10 microseconds."""
    return Program(
        "small",
        (),
        (sink("shares", "out", WINDOWED),),
        (
            unit(
                "main",
                task("events", Source(Files(path, Format("json"))), EVENT),
                task("timed", EventTime(_X, disorder), EVENT, "events", timed=True),
                task("windowed", Window(Tumbling(10), 0), WINDOWED, "timed", timed=True),
                task("shares", AggregateByKey(()), WINDOWED, "windowed", timed=True),
                task("to_shares", To("shares"), WINDOWED, "shares", timed=True),
            ),
        ),
    )


def rows_of(program: Program, name: str, base: Path) -> list[Row]:
    """What readers see in a sink."""
    return list(read(program.sink(name), connected(base)))


def engine(program: Program, base: Path, **options: object) -> Engine:
    """An engine for a small program."""
    options = {"commit_s": 0.05, "connections": options.get("connections") or connected(base)} | options
    return Engine(Compiled(program), state=base / "state", build=build, **options)  # type: ignore[arg-type]


def dead_letters(base: Path, program: Program, unit: str = "main") -> list[DeadLetter]:
    """The dead letters of a unit that were committed."""
    from ghcm.runtime.data.dead_letter import DEAD_LETTER

    place = Files(str((base / "state" / "dead" / program.name / unit).absolute()), Format("json"))
    found = Sink("dead", place, Mode.APPEND, None, DEAD_LETTER, HERE)
    return [DeadLetter(row[0], row[1], Failure(row[2]), *row[3:]) for row in read(found, connected(base))]  # type: ignore[arg-type]
