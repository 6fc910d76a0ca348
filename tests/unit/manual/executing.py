"""Executes the examples of the manual: on the reference, and in each native form."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from ghcm.functions import Example, Failure
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.manual.aggregates import Aggregated
from ghcm.operators import Pipeline
from ghcm.runtime.contract import Form
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.sources.files import FilesSource
from ghcm.runtime.sources.sql import SqlSource
from ghcm.runtime.sources.table import TableSource
from ghcm.source import Source as Text
from ghcm.spg.connectors import Files, Kafka, Socket, SqlQuery, Table
from ghcm.spg.graph import Program, Task
from ghcm.spg.ops import ReadSink, Source
from ghcm.spg.reference import run
from ghcm.spg.verify import verify
from ghcm.tables.database import Database
from ghcm.types import Struct, Type
from ghcm.values import decode, to_json
from tests.unit.runtime.formats.decoding import by_reference, drain
from tests.unit.runtime.operators.harness import run_unit

__all__ = ["by_form", "by_reference_engine", "program_of"]

Any = Example | Aggregated | Pipeline


def program_of(example: Any) -> Program:
    """The checked program of an example."""
    program = lower(parse(Text("example.istream", example.program())))
    assert verify(program) == []
    return program


def by_reference_engine(example: Any, base: Path) -> list[str]:
    """The lines that it gives on the reference."""
    program = program_of(example)
    _write(example, base)
    arrives = {
        task.id: {"": data.encode()}
        for task in program.unit("example").tasks
        if isinstance(task.op, Source) and isinstance(task.op.connector, Socket | SqlQuery | Kafka)
        for data in _files(example).values()
    }
    done = run(program, "example", base=base, inputs=arrives, sinks=_held(example, program))
    instructions = [(each.unit, each.arguments) for each in done.instructions]
    letters = [(each.reason, each.input) for each in done.dead]
    return _lines(program, done.reply, done.sinks, instructions, letters)


def by_form(example: Any, form: Form, base: Path) -> list[str]:
    """The lines that it gives in a native form; files are read by the engine's own source."""
    program = program_of(example)
    _write(example, base)
    unit = program.unit("example")
    letters: list[tuple[Failure, str]] = []
    inputs: dict[str, list[Batch | int]] = {}
    for task in unit.tasks:
        rows = _arrives(example, program, task, base, letters)
        if rows is not None:
            inputs[task.id] = [Batch.from_rows(task.schema, rows)]

    def load(module: str) -> ModuleType:
        with pytest.MonkeyPatch.context() as patch:
            patch.syspath_prepend(base)
            return importlib.import_module(module)

    given = run_unit(program, unit, form, inputs=inputs, load=load)
    letters += [(each.reason, each.input) for each in given.letters]
    instructions = [(each.unit, each.arguments) for _, each in given.publications]
    return _lines(program, given.reply, given.sinks, instructions, letters)


def _arrives(
    example: Any, program: Program, task: Task, base: Path, letters: list[tuple[Failure, str]]
) -> list[Row] | None:
    """What comes in at a task from outside; None where nothing does."""
    match task.op:
        case Source(connector=Files() as files):
            assert isinstance(task.schema, Struct)
            rows, dead = drain(FilesSource(files, task.schema, task.id, base))
        case Source(connector=Table() as table):
            assert isinstance(task.schema, Struct)
            rows, dead = drain(TableSource(table, task.schema, task.id, base))
        case Source(connector=Socket(format=format_) | Kafka(format=format_)):
            assert isinstance(task.schema, Struct)
            [data] = _files(example).values()
            rows, dead = by_reference(format_, task.schema, data.encode())
        case Source(connector=SqlQuery() as query):
            assert isinstance(task.schema, Struct)
            database = _database(query, _files(example), base)
            rows, dead = drain(SqlSource(query, task.schema, task.id, database, 30.0))
            database.close()
        case ReadSink(sink=sink):
            rows, dead = [row for row in _held(example, program)[sink] if isinstance(row, tuple)], []
        case _:
            return None
    letters += [(Failure.BAD_RECORD, text) for _, text in dead]
    return rows


def _database(query: SqlQuery, held: Mapping[str, str], base: Path) -> Database:
    """The database of an example, with the rows of the table."""
    database = Database(query.connection, "sqlite:///example.db", base)
    rows = [json.loads(line) for line in held[f"{query.connection}: {query.table}"].splitlines()]
    with database.writing("fill the table") as connection:
        connection.exec_driver_sql(f"drop table if exists {query.table}")
        connection.exec_driver_sql(f"create table {query.table} ({', '.join(rows[0])})")
        marks = ", ".join("?" * len(rows[0]))
        given = [tuple(row.values()) for row in rows]
        connection.exec_driver_sql(f"insert into {query.table} values ({marks})", given)
    return database


def _files(example: Any) -> dict[str, str]:
    return dict(example.files) if isinstance(example, Pipeline) else {}


def _write(example: Any, base: Path) -> None:
    for path, text in _files(example).items():
        if example.text.startswith("table("):
            pl.read_ndjson(text.encode()).write_delta(str(base / path), mode="overwrite")
        else:
            (base / path).write_text(text, encoding="utf-8")


def _held(example: Any, program: Program) -> dict[str, list[object]]:
    held = example.sinks if isinstance(example, Pipeline) else {}
    return {name: [decode(row, program.sink(name).element) for row in rows] for name, rows in held.items()}


def _lines(
    program: Program,
    reply: list[object] | None,
    sinks: dict[str, list[object]],
    instructions: Sequence[tuple[str, Mapping[str, object]]],
    letters: list[tuple[Failure, str]],
) -> list[str]:
    unit = program.unit("example")
    lines = [_json(row, unit.tasks[-1].collection.element) for row in reply or ()]
    for name, rows in sinks.items():
        lines += [f"{name}: {_json(row, program.sink(name).element)}" for row in rows]
    for called, arguments in instructions:
        types = {each.name: each.type for each in program.unit(called).parameters}
        values = {name: to_json(value, types[name]) for name, value in arguments.items()}
        lines.append(f"call {called}: {json.dumps(values, ensure_ascii=False)}")
    return [*lines, *(f"dead letter ({reason.value}): {text}" for reason, text in letters)]


def _json(value: object, type_: Type) -> str:
    return json.dumps(to_json(value, type_), ensure_ascii=False)
