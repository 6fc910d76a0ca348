"""Lookups in what a service has at one moment: rows of the program, or a table that whoever runs the unit gives."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import assert_never, cast

from ghcm.errors import GhcmError
from ghcm.spg.ops import Lookup
from ghcm.spg.reference.state import Record, Run, Step
from ghcm.spg.services import DrawnRows, GivenRows, HttpObject, RedisKey, SqlRow, drawn


def looked_up(run: Run, step: Step, op: Lookup, records: Sequence[Record]) -> list[Record]:
    """The record that the service has for each key; of a service outside what is given as a table."""
    get = _getter(run, step, op)
    found: list[Record] = []
    for record in records:
        key, left = cast("tuple[object, object]", record.value)
        found.append(record.with_value((left, None if key is None else get(key))))
    return found


def _getter(run: Run, step: Step, op: Lookup) -> Callable[[object], object]:
    service, table = op.service, run.outside.tables.get((run.unit.name, step.id))
    if table is not None:  # whoever runs it says what the service has
        return dict(table).get
    match service:
        case GivenRows(rows=rows):
            held = {row[0]: row[1:] for row in rows}
            return cast("dict[object, object]", held).get
        case DrawnRows():
            return partial(drawn, service)
        case RedisKey() | SqlRow() | HttpObject():
            message = f'nobody has said what the service of "{step.id}" has'
            raise GhcmError(message, hint="the reference asks nobody: tables = {(unit, task): pairs} says it.")
        case _:
            assert_never(service)
