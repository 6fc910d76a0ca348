"""What all units of an engine share, and how their tasklets are made from it: code, connections, state directories."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Protocol, TypeAlias

from ghcm.errors import GhcmError
from ghcm.places import Place
from ghcm.runtime.contract import Context, Form, Operator
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.dead_letter import table_of
from ghcm.runtime.engine.scheduler import Scheduler
from ghcm.runtime.formats.file_pieces import FIRST_PIECE
from ghcm.runtime.native.code import ReadCode, SinkCode, TaskCode
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import Instruction
from ghcm.runtime.sinks.backend import SinkWriter
from ghcm.runtime.sinks.revising import RevisingWriter
from ghcm.runtime.sinks.sink import latest_version, open_writer, read
from ghcm.runtime.sources.columns import some_columns
from ghcm.runtime.sources.memory import RowsSource
from ghcm.runtime.sources.registry import open_source
from ghcm.runtime.sources.source import Source as Reading
from ghcm.runtime.sources.stored import StoredSource
from ghcm.runtime.upgrade import Since
from ghcm.source import Origin, SourceLine
from ghcm.spg.graph import Program, Task, Unit
from ghcm.spg.instances import in_instances
from ghcm.spg.ops import ReadSink, ReadTable, Source, To


class Compiled(Protocol):
    """What an engine runs: a bundle, or the like in tests."""

    @property
    def plan(self) -> Program:
        """The program as optimised."""
        ...

    def line(self, origin: Origin) -> str:
        """The line of the program at this position; empty where it is not known."""
        ...

    def unit_module(self, unit: str) -> ModuleType:
        """The generated module, whose `TASKS` are the code of the unit's tasks."""
        ...

    def load(self, name: str) -> ModuleType:
        """A Python module of the user's."""
        ...


Build: TypeAlias = Callable[[Task, Unit, TaskCode | None, Context], Operator]
"""Makes the operator of a task: `ghcm.runtime.operators.build`."""

CopyTable: TypeAlias = Callable[[str, str, object, bool], list[tuple[object, object]]]
"""Copies the table of a unit and task, in the loop: its pairs; where the last is true, that of the key alone. GhcmError
if there is no such table."""


@dataclass(slots=True)
class Services:
    """`job` names the run across restarts; `state` is the state directory, `snapshots` where those are; `since` says in
    which version of the program a publish policy began; `piece`: bytes of a file that are read first.
    """

    compiled: Compiled
    connections: Connections
    scheduler: Scheduler
    build: Build
    job: str
    state: Path
    snapshots: Place
    form: Form = "auto"
    commit_s: float = 1.0
    copy_table: CopyTable | None = None
    accept: Callable[[Instruction], bool] | None = None
    """Notes in the call store a call that a policy is about to send."""
    now: Callable[[], int] = field(default_factory=lambda: Context().now)
    since: Since = field(default_factory=dict[str, Mapping[str, int]])
    piece: int = FIRST_PIECE
    sync_calls: Callable[[], None] = lambda: None
    """Brings to disk what `accept` has noted."""
    kept_snapshots: int = 2
    waits: bool = False
    """Whether calls that find no room, or a Redis that refuses, wait for that to pass; else they fail."""
    parallelism: int | None = None
    """How many instances each task has that can be divided, in place of those of the plan."""
    program: Program = field(init=False)
    """The program that runs."""
    _code: dict[str, Mapping[str, TaskCode]] = field(default_factory=dict[str, Mapping[str, TaskCode]])

    def __post_init__(self) -> None:
        self.program = self.compiled.plan
        if self.parallelism is not None:
            self.program = _divided(self.program, self.parallelism)

    def upgraded(self, compiled: Compiled, since: Since) -> Services:
        """The same for another version of the program."""
        return replace(self, compiled=compiled, since=since, _code={})

    def began(self, unit: str, task: str) -> int:
        """The version of the program in which a publish policy began."""
        return self.since.get(unit, {}).get(task, 1)

    def code(self, unit: Unit) -> Mapping[str, TaskCode]:
        """The generated code of a unit by task, loaded once."""
        if unit.name not in self._code:
            self._code[unit.name] = self.compiled.unit_module(unit.name).TASKS
        return self._code[unit.name]

    def operator(self, task: Task, unit: Unit, parameters: Mapping[str, object]) -> Operator:
        """A new operator of a task."""
        context = Context(self.program.name, parameters, self.form, self.now, self.compiled.load, self.connections)
        return self.build(task, unit, self.code(unit).get(task.id), context)

    def source(self, task: Task, unit: Unit, parameters: Mapping[str, object], versions: Mapping[str, str]) -> Reading:
        """The source of a task that reads; `versions` of sinks to be read in place of the latest."""
        match task.op:
            case Source(connector=connector):
                try:
                    reading = open_source(connector, task.whole, task.id, self.connections, self.piece)
                except GhcmError as error:
                    error.place = error.place or SourceLine(task.origin, self.compiled.line(task.origin))
                    raise
                return some_columns(reading, task)
            case ReadSink(sink=name):
                sink = self.program.sink(name)
                latest = partial(latest_version, sink, self.connections)

                def rows(version: str | None) -> Iterator[Row]:
                    return read(sink, self.connections, version=version)

                return some_columns(StoredSource(latest, rows, task.whole, task.id, versions.get(name)), task)
            case ReadTable():
                return RowsSource(partial(self._copy, task, unit, parameters), task.schema, task.id, replayable=False)
            case _:  # only what reads is asked for its source
                raise AssertionError(f"{task.id} reads nothing")

    def _copy(self, task: Task, unit: Unit, parameters: Mapping[str, object]) -> list[tuple[object, object]]:
        op = task.op
        assert isinstance(op, ReadTable) and self.copy_table is not None
        code = self.code(unit).get(task.id)
        if op.key is None or not isinstance(code, ReadCode):
            return self.copy_table(op.unit, op.task, None, False)
        return self.copy_table(op.unit, op.task, code.key(parameters), True)

    def open_writer(self, task: Task, unit: Unit, *, call: str | None = None) -> Callable[[], SinkWriter]:
        """The function that opens the writer of a `To` task; it blocks."""
        assert isinstance(task.op, To)
        sink = self.program.sink(task.op.sink)
        code = self.code(unit).get(task.id)
        key = code.key if isinstance(code, SinkCode) else None
        name = plain(f"{self.job}.{unit.name}.{task.id}" + (f".{call}" if call else ""))
        staging = self.state / "staged"

        def opened() -> SinkWriter:
            writer = open_writer(sink, self.connections, writer=name, key=key, call=call, staging=staging)
            return RevisingWriter(writer, sink, key) if task.collection.changing and key is not None else writer

        return opened

    def dead_folder(self, unit: Unit) -> Path:
        """The table directory of a unit's dead letters."""
        return self.state / "dead" / self.program.name / unit.name

    def open_dead_writer(self, unit: Unit, name: str) -> Callable[[], SinkWriter]:
        """The function that opens a writer of a unit's dead letters; it blocks."""
        sink = table_of(self.dead_folder(unit))
        return lambda: open_writer(sink, self.connections, writer=f"{self.job}.{unit.name}.{name}")


def _divided(program: Program, count: int) -> Program:
    return replace(program, units=tuple(in_instances(unit, lambda _: count) for unit in program.units))


def plain(name: str) -> str:
    """The name with what cannot stand in a file name replaced; versions and ids of calls may become folders.

    >>> plain("job-main-reply/read")
    'job-main-reply_read'
    """
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)
