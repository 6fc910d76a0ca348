"""What the engines leave of a unit: rows by sink, the reply, dead letters and instructions, in the forms in which the
reference gives them.
"""

from __future__ import annotations

import importlib
import json
import tempfile
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import polars as pl

from ghcm.codegen.engines import emit
from ghcm.codegen.native import NATIVE
from ghcm.codegen.spark import SPARK
from ghcm.optimizer import optimise
from ghcm.runtime.bundle import job_library
from ghcm.runtime.calls.once import run_with
from ghcm.runtime.contract import Form, Publication
from ghcm.runtime.data.columns import Row, rows_of
from ghcm.runtime.data.keys import identity_of
from ghcm.runtime.engine.scheduler import Scheduler
from ghcm.runtime.engine.services import Services
from ghcm.runtime.native.code import SinkCode
from ghcm.runtime.operators import build
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.envelope import now_us
from ghcm.runtime.sinks.backend import Commit, SinkWriter
from ghcm.runtime.sinks.sink import read
from ghcm.source import Origin
from ghcm.spg.connectors import Files, Format, Mode, Parquet
from ghcm.spg.graph import Program, Sink, Task, Unit
from ghcm.spg.ops import Reply, To
from ghcm.types import Struct, Type
from ghcm.values import from_json
from ghcm.verification.given import Given, parameters_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


Letter = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Left:
    """What a run leaves: canonical records, dead letters as (task, reason, input), instructions by task."""

    sinks: Mapping[str, Sequence[object]]
    dead: Sequence[Letter] = ()
    reply: Sequence[object] | None = None
    calls: Sequence[tuple[str, Publication]] = ()


# --- the native engine -----------------------------------------------------------------------------------------------


@dataclass
class Native:
    """A unit of a program in one form of the native engine, optimised or as it is written."""

    program: Program
    unit: Unit
    form: Form
    optimised: bool
    _modules: dict[str, ModuleType] = field(default_factory=dict[str, ModuleType])

    @property
    def name(self) -> str:
        """What it is called."""
        return f"native, {self.form}, {'optimised' if self.optimised else 'as written'}"

    def run(self, given: Given) -> Left:
        """What it leaves of these rows. GhcmError where it fails as a whole."""
        program = given.program(self.program, self.unit)
        program = optimise(program).program if self.optimised else program
        unit = program.unit(self.unit.name)
        with tempfile.TemporaryDirectory(prefix="ghcm-verify-") as folder:
            place, compiled = Path(folder), _Compiled(program, self._module(emit(NATIVE, program, unit).module))
            services = _Keeping(compiled, Connections(place), Scheduler(), build, "verify", place, place, self.form)
            outcome = run_with(services, unit.name, parameters_json(unit, given))
        if outcome.error is not None:
            raise outcome.error
        sinks = {name: _records(services.kept[name], program.sink(name)) for name in services.kept}
        element, reply = reply_element(unit), None
        if element is not None:
            reply = [row if isinstance(element, Struct) else row[0] for row in outcome.rows]
        dead = [(each.task, each.reason.value, each.input) for each in outcome.dead_letters]
        return Left(sinks, dead, reply, outcome.publications)

    def _module(self, text: str) -> ModuleType:
        if text not in self._modules:
            module = self._modules[text] = ModuleType(f"verified_{self.unit.name}")
            exec(compile(text, f"native/{self.unit.name}.py", "exec"), module.__dict__)
        return self._modules[text]


@dataclass(frozen=True, slots=True)
class _Compiled:
    plan: Program
    module: ModuleType

    def line(self, origin: Origin) -> str:
        return str(origin)

    def unit_module(self, unit: str) -> ModuleType:
        assert unit, "of the one unit that there is"
        return self.module

    def load(self, name: str) -> ModuleType:
        return importlib.import_module(name)


def _identified(key: Callable[[Row], object], identity: Callable[[object], object]) -> Callable[[Row], object]:
    """The key as what is the same in the language."""
    return lambda row: identity(key(row))


@dataclass(slots=True)
class _Keeping(Services):
    """Services whose sinks keep rows in memory, of each key the last where the sink does so."""

    kept: dict[str, list[Row]] = field(default_factory=dict[str, list[Row]])

    def open_writer(self, task: Task, unit: Unit, *, call: str | None = None) -> Callable[[], SinkWriter]:
        """As `Services.open_writer`."""
        assert isinstance(task.op, To)
        sink, code = self.program.sink(task.op.sink), self.code(unit).get(task.id)
        key = code.key if isinstance(code, SinkCode) and sink.mode is not Mode.APPEND else None
        identity = identity_of(sink.key.body.type) if sink.key is not None else None
        rows = self.kept.setdefault(sink.name, [])
        return partial(_Writer, sink, key if key is None or identity is None else _identified(key, identity), rows)


@dataclass
class _Writer:
    """The `SinkWriter` into a list."""

    sink: Sink
    key: Callable[[Row], object] | None
    rows: list[Row]
    taken: list[Row] = field(default_factory=list[Row])

    def write(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """As `SinkWriter.write`."""
        columns = [(each.name, each.type) for each in self.sink.columns.fields]
        self.taken += rows_of(rows, columns) if isinstance(rows, pl.DataFrame) else rows

    def remove(self, rows: Sequence[Row] | pl.DataFrame) -> None:
        """As `SinkWriter.remove`; what is run to its end takes nothing back."""
        raise AssertionError(f"{len(rows)} rows are taken back in a run that ends")

    @property
    def pending(self) -> int:
        """As `SinkWriter.pending`."""
        return len(self.taken)

    def prepare(self, version: str) -> int:
        """As `SinkWriter.prepare`."""
        return len(self.taken)

    def commit(self, version: str) -> Commit:
        """As `SinkWriter.commit`."""
        rows, self.taken = self.taken, []
        if self.key is not None:
            rows = list({self.key(row): row for row in rows}.values())
        self.rows += rows
        return Commit(version, len(rows), now_us())

    def abort(self, version: str) -> None:
        """As `SinkWriter.abort`."""
        self.taken = []

    def recover(self, keep: Collection[str] = ()) -> None:
        """As `SinkWriter.recover`: nothing is left."""

    def close(self) -> None:
        """As `SinkWriter.close`."""


# --- Spark -----------------------------------------------------------------------------------------------------------


@dataclass
class Spark:
    """A batch unit of a program as a job in a session, optimised or as it is written."""

    program: Program
    unit: Unit
    optimised: bool
    session: SparkSession

    @property
    def name(self) -> str:
        """What it is called."""
        return f"spark, {'optimised' if self.optimised else 'as written'}"

    def run(self, given: Given) -> Left:
        """What it leaves of these rows; raises what the job raises."""
        with tempfile.TemporaryDirectory(prefix="ghcm-verify-") as name:
            folder = Path(name)
            program = _into_files(given.program(self.program, self.unit))
            program = optimise(program).program if self.optimised else program
            unit = program.unit(self.unit.name)
            module = _job(emit(SPARK, program, unit).module, folder)
            context = {"call": uuid.uuid4().hex, "base": name, "dead": str(folder / "dead")}
            result: Mapping[str, Any] = module.run(self.session, parameters_json(self.unit, given), context)
            written = {task.op.sink for task in unit.tasks if isinstance(task.op, To)}
            sinks = {
                each: _records(read(program.sink(each), Connections(folder)), program.sink(each)) for each in written
            }
            dead = list(_letters(folder / "dead"))
        element = reply_element(unit)
        reply = None if element is None else [from_json(each, element) for each in result["reply"] or ()]
        return Left(sinks, dead, reply, list(_calls(program, result)))


def _into_files(program: Program) -> Program:
    """The program with sinks that are files, so that nothing but a folder is needed."""
    return replace(program, sinks=tuple(map(_file, program.sinks)))


def _file(sink: Sink) -> Sink:
    if sink.mode is Mode.UPSERT and sink.key_columns:
        return replace(sink, connector=Parquet(f"sinks/{sink.name}"))
    mode = Mode.APPEND if sink.mode is Mode.UPSERT else sink.mode
    return replace(sink, connector=Files(f"sinks/{sink.name}", Format("json")), mode=mode, key=None)


def _job(text: str, folder: Path) -> ModuleType:
    path = folder / "spark" / "job.py"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    for name, data in SPARK.shared.items():
        (folder / name).write_bytes(data)
    module = ModuleType(f"job_{uuid.uuid4().hex}")
    module.__file__ = str(path)
    with job_library(path.parent):
        exec(compile(text, str(path), "exec"), module.__dict__)
    return module


def _letters(folder: Path) -> Iterator[Letter]:
    for path in folder.glob("part-*"):
        for line in path.read_text(encoding="utf-8").split("\n"):
            if line:
                letter = json.loads(line)
                yield letter["task"], letter["reason"], letter["input"]


def _calls(program: Program, result: Mapping[str, Any]) -> Iterator[tuple[str, Publication]]:
    sequences: dict[str, int] = {}
    for each in cast("Sequence[Mapping[str, Any]]", result.get("calls", ())):
        task, called = str(each["task"]), program.unit(str(each["unit"]))
        types = {parameter.name: parameter.type for parameter in called.parameters}
        arguments = {name: from_json(value, types[name]) for name, value in each["parameters"].items()}
        sequences[task] = sequences.get(task, -1) + 1
        yield task, Publication(called.name, arguments, sequences[task], each.get("after"))


def _records(rows: Iterator[Row] | Sequence[Row], sink: Sink) -> list[object]:
    return [row if isinstance(sink.element, Struct) else row[0] for row in rows]


def reply_element(unit: Unit) -> Type | None:
    """The type of the records that the unit replies with; None where it does not."""
    reply = next((task for task in unit.tasks if isinstance(task.op, Reply)), None)
    return None if reply is None else unit.task(reply.inputs[0].producer).collection.element
