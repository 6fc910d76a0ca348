"""What a unit is given in an example: rows for each task that reads, and parameters; the program that reads these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TypeAlias, TypeVar

from ghcm.errors import GhcmError
from ghcm.formats.csv_records import CsvRecords, csv_records
from ghcm.formats.files import UNREADABLE, open_lines, unreadable
from ghcm.formats.records import json_parser
from ghcm.places import place
from ghcm.spg.connectors import Memory
from ghcm.spg.graph import Program, Task, Unit
from ghcm.spg.ops import ArrivalTime, EventTime, Latest, Lookup, ReadSink, ReadTable, Source
from ghcm.spg.services import DrawnRows, GivenRows
from ghcm.types import Struct, strip
from ghcm.values import Json, encode, from_json, to_json
from ghcm.verification.generator import Generator, literals

Rows = tuple[tuple[object, ...], ...]

_LOOKED_UP = 5
"""Records that a generated table has for keys."""


@dataclass(frozen=True, slots=True)
class Given:
    """Rows by the id of the task that reads them, and canonical parameters by name."""

    rows: Mapping[str, Rows]
    parameters: Mapping[str, object]

    def program(self, program: Program, unit: Unit) -> Program:
        """The program with these rows where the unit reads, whatever it reads from, and with no silent sources."""
        changed = replace(unit, tasks=tuple(map(self._with_rows, unit.tasks)))
        return replace(program, units=tuple(changed if each.name == unit.name else each for each in program.units))

    def _with_rows(self, task: Task) -> Task:
        if task.id in self.rows:
            return replace(task, op=Source(Memory(self.rows[task.id])))
        if isinstance(task.op, Lookup):
            return replace(task, op=_in_a_table(task.op, task))
        return replace(task, op=replace(task.op, idle_us=None)) if isinstance(task.op, EventTime) else task

    def lines(self, unit: Unit) -> Iterator[str]:
        """All of it as text."""
        types = {each.name: each.type for each in unit.parameters}
        for name, value in self.parameters.items():
            yield f"{name} = {encode(value, types[name])}"
        for id, rows in self.rows.items():
            yield f"{id}:"
            yield from (f"  {encode(row, unit.task(id).schema)}" for row in rows)


def _in_a_table(op: Lookup, task: Task) -> Lookup:
    """The lookup in a table of generated records, where it asks somebody outside: nobody says the same twice."""
    record = strip(task.schema.fields[1].type)
    if isinstance(op.service, GivenRows) or not isinstance(record, Struct):
        return op
    generator = Generator(Random(task.id), [])
    return replace(op, service=DrawnRows(tuple(generator.row(record) for _ in range(_LOOKED_UP))))


def readers(unit: Unit) -> list[Task]:
    """The tasks that read: what they read is given in their place."""
    reads = [task for task in unit.tasks if isinstance(task.op, Source | ReadSink | ReadTable)]
    return [task for task in reads if not (isinstance(task.op, Source) and isinstance(task.op.connector, Memory))]


def why_not(unit: Unit) -> str:
    """Why a unit gives no results that can be compared; empty where it does."""
    for task in unit.tasks:
        if isinstance(task.op, ArrivalTime):
            return f'"{task.id}" goes by the clock'
        if isinstance(task.op, Latest) and task.op.ttl_us is not None and len(_origins(unit, task)) > 1:
            return f'"{task.id}" forgets keys by the event time of several sources, which come in any turn'
    return ""


def _origins(unit: Unit, task: Task) -> set[str]:
    """The tasks with which all begins that comes to a task."""
    before = [_origins(unit, unit.task(edge.producer)) for edge in task.inputs]
    return set[str]().union(*before) if before else {task.id}


def generated(unit: Unit, random: Random, most: int) -> Given:
    """An example of up to so many rows for each task that reads."""
    generator = Generator(random, list(literals(unit)))
    rows = {
        task.id: tuple(generator.row(task.schema) for _ in range(random.randint(0, most))) for task in readers(unit)
    }
    parameters = {
        each.name: generator.value(each.type) for each in unit.parameters if each.required or random.random() < _SAID
    }
    return Given({id: _repeated(each, random) for id, each in rows.items()}, parameters)


_SAID = 0.5


def _repeated(rows: Rows, random: Random) -> Rows:
    """Some of the rows twice, and all of them in some order."""
    more = [*rows, *(row for row in rows if random.random() < 0.15)]
    random.shuffle(more)
    return tuple(more)


def from_file(unit: Unit, path: Path) -> Given:
    """The records of a file of JSON lines or CSV, for every task that reads records of their fields. GhcmError where
    none does, or a record does not fit.
    """
    fields, rows_of = _csv_file(path) if path.suffix == ".csv" else _json_file(path)
    fitting = [task for task in readers(unit) if fields <= set(task.schema.names)]
    if not fitting:
        wanted = "; ".join(f"{task.id} reads {', '.join(task.schema.names)}" for task in readers(unit))
        raise GhcmError(
            f'no task of unit "{unit.name}" reads records as "{path}" has them',
            code="GHCM-605",
            detail=f"{wanted}." if wanted else "It reads nothing.",
            hint="give a file of JSON lines, or CSV, whose fields are those of a record of the program.",
        )
    return Given({task.id: rows_of(task.schema) for task in fitting}, {})


_File: TypeAlias = tuple[set[str], Callable[[Struct], Rows]]
"""The names of its fields, and its records as those of a type."""


def _json_file(path: Path) -> _File:
    parse, records = json_parser(written=False, own=True), list[Mapping[str, Json]]()
    for number, line in enumerate(_lines(path), 1):
        try:
            records += [parse(line.strip().decode())] if line.strip() else []
        except ValueError as error:
            message, hint = f'line {number} of "{path}" cannot be read', "give JSON lines, or a file named *.csv."
            raise GhcmError(message, code="GHCM-602", detail=f"{error}.", hint=hint) from None

    return set(_some(records, path)[0]), lambda schema: _fitting(records, partial(_json_record, schema=schema), path)


def _json_record(found: Mapping[str, Json], schema: Struct) -> tuple[object, ...]:
    values: list[object] = []
    for field in schema.fields:
        try:
            values.append(from_json(found.get(field.name), field.type))
        except ValueError as error:
            raise ValueError(f'field "{field.name}": {error}') from None
    return tuple(values)


def _csv_file(path: Path) -> _File:
    header, *records = [(cells, raw) for cells, raw, _ in csv_records(_lines(path), ",") if cells != []] or [([], b"")]
    _some(records, path)
    names = header[0]
    if isinstance(names, Exception):
        raise GhcmError(f'the header of "{path}" cannot be read', code="GHCM-602", detail=f"{names}.")

    def rows_of(schema: Struct) -> Rows:
        reader = CsvRecords(replace(schema, fields=tuple(replace(each, path=None) for each in schema.fields)))
        reader.begin(names, str(path))
        return _fitting(records, lambda each: reader.take(*each, str(path)) or (), path)

    return set(names), rows_of


def _lines(path: Path) -> list[bytes]:
    try:
        with open_lines(place(Path(), str(path)), "ending") as lines:
            return list(lines)
    except UNREADABLE as error:
        raise unreadable(str(path), error) from error


T = TypeVar("T")


def _some(records: Sequence[T], path: Path) -> Sequence[T]:
    if not records:
        raise GhcmError(f'"{path}" has no records', code="GHCM-605")
    return records


def _fitting(records: Sequence[T], read: Callable[[T], tuple[object, ...]], path: Path) -> Rows:
    rows: list[tuple[object, ...]] = []
    for number, record in enumerate(records, 1):
        try:
            rows.append(read(record))
        except ValueError as error:
            message = f'record {number} of "{path}" does not fit'
            raise GhcmError(message, code="GHCM-605", detail=f"{error}.") from None
    return tuple(rows)


def parameters_json(unit: Unit, given: Given) -> dict[str, object]:
    """The parameters as instructions carry them."""
    types = {each.name: each.type for each in unit.parameters}
    return {name: to_json(value, types[name]) for name, value in given.parameters.items()}
