"""What rests in the sinks of a program, as the Supervisor shows it: snapshots, kept so that the next reads only what is
new, and which of their rows somebody wants: by time and by value, in what order, how many.

A sink may hold more than anybody wants to see at once: a snapshot says whether its rows are all. A mistake in a
selection is a Problem 422 that says which columns there are. Snapshots block, and belong into threads.
"""

import asyncio
import json
import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeAlias, assert_never, cast

import polars as pl
from fastapi import Depends, Query

from ghcm import types
from ghcm.errors import listed, suggest
from ghcm.runtime.data.columns import rows_of
from ghcm.runtime.data.columns import series as series_of
from ghcm.runtime.durations import Seconds
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.backend import Commit, SinkSnapshot
from ghcm.runtime.sinks.sink import is_readable, view
from ghcm.spg.connectors import unreadable
from ghcm.spg.graph import Sink
from ghcm.supervisor.models import canonical
from ghcm.supervisor.problems import Problem
from ghcm.types import strip
from ghcm.values import from_json, to_json
from ghcm.values.timestamps import timestamp_text

Offset: TypeAlias = Annotated[int, Query(ge=0, le=2**53)]
"""How many rows to leave out; as many as JSON can name."""

_LONGEST = 1e10
"""Seconds that one may look back: three hundred years, as far as microseconds reach."""

MOST_ROWS = 100_000
"""Rows of a sink that are kept."""


class SinkWatch:
    """One sink, of which snapshots are taken again and again, one at a time. Problem 404 where it cannot be read."""

    def __init__(self, sink: Sink, connections: Connections) -> None:
        if not is_readable(sink):
            message = f'sink "{sink.name}" cannot be looked at: it is a place of {sink.connector.word}'
            raise Problem(404, "GHCM-341", message, detail=unreadable(sink.connector))
        self.sink, self.connections = sink, connections
        self._view = view(sink, connections)
        self._lock = threading.Lock()
        self._looked, self._commits = -math.inf, list[Commit]()
        self._looking: asyncio.Task[Sequence[Commit]] | None = None

    def latest(self) -> Commit | None:
        """The latest commit, without its rows."""
        with self._lock:
            return self._view.latest()

    def commits(self, age: float) -> Sequence[Commit]:
        """The commits that can be told apart, oldest first, as they were so many seconds ago at most."""
        with self._lock:
            if (seen := self.seen(age)) is not None:
                return seen
            self._commits = self._view.commits()
            self._looked = time.monotonic()
            return self._commits

    async def looked(self, age: float) -> Sequence[Commit]:
        """The same, from the event loop: all who ask at a time wait for one thread."""
        if (seen := self.seen(age)) is not None:
            return seen
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(asyncio.to_thread(self.commits, age))
        return await asyncio.shield(self._looking)  # who goes does not end it for the others

    def seen(self, age: float) -> Sequence[Commit] | None:
        """The same where somebody has looked within this time; else None. Never blocks."""
        return self._commits if time.monotonic() - self._looked < age else None

    def snapshot(self) -> SinkSnapshot:
        """The sink as it is now."""
        with self._lock:
            return self._view.snapshot(MOST_ROWS)


@dataclass(frozen=True, slots=True)
class Selection:
    """`since` and `until` (microseconds, the latter exclusive) and `last` (seconds back from the newest moment) are of
    the column `time`, by default the first timestamp. `order` names columns, with "-" before it where the greatest
    comes first; by default the newest moment comes first. No `columns`: all.
    """

    columns: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict[str, str])
    time: str | None = None
    since: int | None = None
    until: int | None = None
    last: float | None = None
    order: tuple[str, ...] = ()
    limit: int | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Selected:
    """The rows that were asked for. `total` counts all that fit, before limit and offset."""

    columns: types.Struct
    frame: pl.DataFrame
    total: int


def select(found: SinkSnapshot, wanted: Selection) -> Selected:
    """The rows of the snapshot that the selection asks for."""
    time = time_column(found.columns, wanted.time)
    frame = _at_times(found.frame, time, wanted)
    for name, text in wanted.where.items():
        frame = frame.filter(_is(column(found.columns, name), text))
    frame = _ordered(frame, found.columns, wanted.order or ((f"-{time}",) if time else ()))
    total = frame.height
    frame = frame.slice(wanted.offset, wanted.limit)
    if not wanted.columns:
        return Selected(found.columns, frame, total)
    kept = types.Struct(tuple(column(found.columns, name) for name in wanted.columns))
    return Selected(kept, frame.select(kept.names), total)


def documents(selected: Selected) -> list[dict[str, object]]:
    """The rows in their JSON form."""
    rows = rows_of(selected.frame, [(field.name, field.type) for field in selected.columns.fields])
    return [cast("dict[str, object]", to_json(row, selected.columns)) for row in rows]


def column(columns: types.Struct, name: str) -> types.Field:
    """The column of that name; Problem 422 if there is none."""
    found = columns.get(name)
    if found is None:
        detail, hint = f"There are {listed(columns.names)}.", suggest(name, columns.names)
        raise Problem(422, "GHCM-340", f'there is no column "{name}"', detail=detail, hint=hint)
    return found


def time_column(columns: types.Struct, wanted: str | None) -> str | None:
    """The column that tells when: the wanted one, else the first timestamp, else None."""
    times = [each.name for each in columns.fields if isinstance(strip(each.type), types.Timestamp)]
    if wanted is None:
        return next(iter(times), None)
    found = column(columns, wanted)
    if wanted not in times:
        message = f'column "{wanted}" tells no time: it is {found.type}'
        raise Problem(422, "GHCM-340", message, detail=f"Columns that do: {listed(times)}.")
    return wanted


def _at_times(frame: pl.DataFrame, time: str | None, wanted: Selection) -> pl.DataFrame:
    if wanted.since is None and wanted.until is None and wanted.last is None:
        return frame
    if time is None:
        hint = "leave since, until and last out."
        raise Problem(422, "GHCM-340", "these rows have no column of type timestamp", hint=hint)
    micros = pl.col(time).cast(pl.Int64)
    if wanted.last is not None and frame.height:
        newest = frame.select(micros.max()).item()
        if newest is not None:
            frame = frame.filter(micros > newest - int(wanted.last * 1e6))
    if wanted.since is not None:
        frame = frame.filter(micros >= wanted.since)
    return frame if wanted.until is None else frame.filter(micros < wanted.until)


def _is(field: types.Field, text: str) -> pl.Expr:
    plain = strip(field.type)
    try:
        value = series_of(field.name, [_value(text, plain)], plain)
    except (ValueError, RecursionError) as error:
        expected = f"timestamp such as {timestamp_text(0)}" if isinstance(plain, types.Timestamp) else str(plain)
        message = f'column "{field.name}" cannot be "{text}": it is {expected}'
        raise Problem(422, "GHCM-340", message) from error
    return pl.col(field.name) == pl.lit(value).first()


def _value(text: str, type_: types.Type) -> object:
    """The canonical value that a text of a query stands for."""
    match type_:
        case types.Struct() | types.List() | types.Map() | types.Bytes() | types.Null() | types.Nullable():
            raise ValueError("no text stands for such values")
        case types.String() | types.Enumeration() | types.Timestamp() | types.Date() | types.Decimal():
            return from_json(canonical(text, type_), type_)
        case types.Bool() | types.Int() | types.Int32() | types.Float() | types.Duration():
            return from_json(json.loads(text), type_)
        case _:
            assert_never(type_)


def _ordered(frame: pl.DataFrame, columns: types.Struct, order: Sequence[str]) -> pl.DataFrame:
    if not order:
        return frame
    names = [column(columns, name.removeprefix("-")) for name in order]
    for each in names:
        if isinstance(strip(each.type), types.Struct | types.List | types.Map):
            raise Problem(422, "GHCM-340", f'rows cannot be ordered by "{each.name}": it is {each.type}')
    descending = [name.startswith("-") for name in order]
    return frame.sort([each.name for each in names], descending=descending, nulls_last=True, maintain_order=True)


def _selection(
    columns: Annotated[list[str] | None, Query(description="Which columns; all by default.")] = None,
    where: Annotated[list[str] | None, Query(description='A column and its value: "proto:tcp".')] = None,
    time: Annotated[
        str | None, Query(description="The column that tells when; the first timestamp by default.")
    ] = None,
    since: Annotated[str | None, Query(description="From this moment on.")] = None,
    until: Annotated[str | None, Query(description="Before this moment.")] = None,
    last: Annotated[
        Seconds | None, Query(le=_LONGEST, description='Back from the newest moment: "90", "5m", "1h".')
    ] = None,
    order: Annotated[list[str] | None, Query(description='Columns, "-" before those that go down.')] = None,
) -> Selection:
    return Selection(
        columns=names(columns),
        where=filters(where),
        time=time,
        since=moment("since", since),
        until=moment("until", until),
        last=last,
        order=names(order),
    )


Chosen: TypeAlias = Annotated[Selection, Depends(_selection)]
"""The selection that a request asks for, without limit and offset."""


def names(given: list[str] | None) -> tuple[str, ...]:
    """Names that are given with commas between them, or one by one, each once.

    >>> names(["a,b", "c,a"])
    ('a', 'b', 'c')
    """
    return tuple(dict.fromkeys(name.strip() for text in given or () for name in text.split(",") if name.strip()))


def filters(given: list[str] | None) -> dict[str, str]:
    """What `where=column:value` asks for, by column; Problem 422 where there is no colon."""
    found: dict[str, str] = {}
    for text in given or ():
        name, colon, value = text.partition(":")
        if not colon:
            hint = f"write where={text}:VALUE."
            raise Problem(422, "GHCM-340", f'"{text}" is no condition: it has no ":"', hint=hint)
        found[name] = value
    return found


def moment(name: str, text: str | None) -> int | None:
    """The microseconds of a moment in a query; Problem 422 if it is none."""
    if text is None:
        return None
    try:
        micros = from_json(canonical(text, types.Timestamp()), types.Timestamp())
    except ValueError as error:
        hint = "write it as 2026-01-02T03:04:05Z; a + in an address is %2B."
        raise Problem(422, "GHCM-340", f'{name} cannot be "{text}": it is no moment', hint=hint) from error
    assert isinstance(micros, int)
    return micros
