"""The rows of a table or a query in a database as a source, read by threads beside the loop, each a range of them.

Columns of plain values are taken as the driver gives them, a batch at a time: as whole columns where Arrow's own driver
knows the database. Nested ones, and values that are not of their field's type, are read as the JSON objects of the same
content would be, row by row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal as Exact
from functools import partial
from types import NoneType
from typing import Any, TypeAlias, TypeVar, cast

import pyarrow as pa

from ghcm.errors import GhcmError
from ghcm.formats.database_rows import DatabaseRows
from ghcm.formats.tables import said
from ghcm.functions import Failure
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.chunks import BadRecord, Letters
from ghcm.runtime.formats.tables import Tables, is_exact
from ghcm.runtime.sources.source import Mailbox
from ghcm.schemas.arrow import arrow_type
from ghcm.spg.connectors import SqlQuery
from ghcm.tables.database import Away, Database
from ghcm.tables.queries import CUT_AT, Query
from ghcm.types import Decimal, Struct, strip

T = TypeVar("T")

_PREFETCHED = 4
_PAUSE_S = 0.5
_SAME = frozenset(
    ("bool", "int2", "int4", "int8", "float8", "text", "varchar", "bpchar", "bytea", "timestamptz", "timestamp", "date")
)
"""Types of PostgreSQL whose values Arrow's own driver gives as the other one does. Of `float4` it gives 0.1 as another
number, and of `money` the cents.
"""
_Found: TypeAlias = pa.RecordBatch | tuple[Sequence[str], Sequence[Row]]
"""Rows as columns, or column by column their names and then the rows."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a part: how many, decoded; the last ones where there are none."""

    part: int
    count: int
    batch: Batch | None
    letters: Sequence[tuple[Failure, str, str]]


class SqlSource:
    """Rows of a query. The position: where its parts are cut, and how many rows were given of each, -1 for all."""

    replayable = True
    due: float | None = None

    def __init__(
        self, connector: SqlQuery, schema: Struct, partition: str, database: Database, patience: float
    ) -> None:
        self._reader = DatabaseRows(schema)
        where, how = (connector.table, connector.query), (connector.split, connector.parts)
        self._query = Query(database, *where, *how, self._reader.choose)
        self._schema = schema
        parts = connector.parts
        self._names = [f"{partition}:{part}" for part in range(parts)] if parts > 1 else [partition]
        self._cuts: list[object] | None = None
        self._given = [0] * parts
        self._heard = 0.0
        self._patience = patience
        self._mailbox = Mailbox[list[object] | _Rows](_PREFETCHED)

    def open(self, position: object, wake: Callable[[], None]) -> None:
        self._heard = time.monotonic()
        if isinstance(position, Mapping):
            known = cast("Mapping[str, Any]", position)
            self._given = list(known["rows"])
            if known["cuts"] is not None:
                self._cuts = [CUT_AT[kind](text) for kind, text in known["cuts"]]
        if not self.ended:
            self._mailbox.feed("ghcm-sql", partial(self._begin, list(self._given), self._cuts, wake), wake)

    def partitions(self) -> frozenset[str]:
        return frozenset(name for name, given in zip(self._names, self._given, strict=True) if given >= 0)

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        while (found := self._mailbox.take()) is not None:
            if not isinstance(found, _Rows):
                self._cuts = found
                continue
            self._given[found.part] = self._given[found.part] + found.count if found.count else -1
            for letter in found.letters:
                letters(*letter)
            if found.batch is not None:
                return found.batch
        return None

    @property
    def ended(self) -> bool:
        return not self.partitions()

    def position(self) -> object:
        cuts = None if self._cuts is None else [[type(each).__name__, str(each)] for each in self._cuts]
        return {"cuts": cuts, "rows": list(self._given)}

    def close(self) -> None:
        self._mailbox.close()

    def _begin(self, given: list[int], cuts: list[object] | None, wake: Callable[[], None]) -> None:
        """The first thread: see where the parts are cut, and have them read."""
        if cuts is None:
            cuts = self._patiently(self._query.cuts)
            self._mailbox.put(cuts)
        plain = self._patiently(self._is_plain)
        for part in [part for part, rows in enumerate(given) if rows >= 0]:
            self._mailbox.feed(f"ghcm-sql-{part}", partial(self._read, part, given[part], cuts, plain), wake)

    def _is_plain(self) -> bool:
        """Whether Arrow's own driver gives each column as its field has it."""
        found = self._query.arrow_types()
        return found is not None and not self._schema.cases and all(map(self._fits, cast("Any", found)))

    def _fits(self, column: Any) -> bool:
        field, kind = self._reader.field(column.name), column.metadata[b"POSTGRESQL:type"].decode()
        if field is None or isinstance(strip(field.type), Decimal):
            return field is not None and kind == "numeric"
        return kind in _SAME and is_exact(column.type, field.type)

    def _read(self, part: int, given: int, cuts: Sequence[object], plain: bool) -> None:
        """The thread of a part: leave its rows in the mailbox."""

        def read(asked: Callable[[int, int, Sequence[object]], Iterator[_Found]]) -> None:
            nonlocal given
            for found in asked(part, given, cuts):
                letters = list[tuple[Failure, str, str]]()
                count, batch = self._decoded(part, found, given, partial(_keep, letters))
                if not self._mailbox.put(_Rows(part, count, batch, letters)):
                    return
                given += count
                self._heard = time.monotonic()
            self._mailbox.put(_Rows(part, 0, None, ()))

        if plain:
            with suppress(GhcmError, cast("Any", pa).ArrowException):  # why it fails is said where rows are asked for
                return read(self._query.columns)
        self._patiently(partial(read, self._query.read))

    def _patiently(self, attempt: Callable[[], T]) -> T:
        """What it gives; a database that is away is waited for, so long after it was last heard of."""
        while True:
            try:
                return attempt()
            except GhcmError as error:
                if not isinstance(error.__cause__, Away) or time.monotonic() > self._heard + self._patience:
                    raise
                time.sleep(_PAUSE_S)

    def _decoded(self, part: int, found: _Found, number: int, letters: Letters) -> tuple[int, Batch]:
        """How many rows these are, so many of which came before, and their records."""
        tables = Tables(self._schema, self._query.name, self._names[part], number=number)
        if isinstance(found, pa.RecordBatch):
            return found.num_rows, tables.add(self._with_decimals(found), letters)
        names, rows = found
        name, reader = self._query.name, self._reader
        columns = [reader.values(name, column) for name, column in zip(names, zip(*rows, strict=True), strict=True)]
        arrays = [self._array(name, column) for name, column in zip(names, columns, strict=True)]
        known = [array for array in arrays if array is not None]
        if len(known) == len(arrays):
            return len(rows), tables.add(cast("Any", pa).RecordBatch.from_arrays(known, names=list(names)), letters)
        records: list[Row] = []
        for place, values in enumerate(zip(*columns, strict=True), number + 1):
            row, text, error = reader.record(names, values)
            if row is None:
                letters(BadRecord, f"{name}:{place}: {error}", text or "")
            else:
                records.append(row)
        return len(rows), Batch.from_rows(self._schema, records, partition=self._names[part])

    def _with_decimals(self, found: Any) -> pa.RecordBatch:
        """The batch with numbers as decimals of their fields; as texts, which are read one by one, where one does not
        fit.
        """
        arrays: list[Any] = []
        for name, column in zip(found.schema.names, found.columns, strict=True):
            field = self._reader.field(name)
            if field is not None and isinstance(strip(field.type), Decimal):
                arrays.append(_decimals(column.storage, arrow_type(field.type)))
            else:
                arrays.append(column)
        made: pa.RecordBatch = cast("Any", pa).RecordBatch.from_arrays(arrays, names=found.schema.names)
        return made

    def _array(self, name: str, column: Sequence[Any]) -> Any:
        """The values as an Arrow array; None where they have to be looked at."""
        field, kinds, arrow = self._reader.field(name), set(map(type, column)) - {NoneType}, cast("Any", pa)
        if field is None or len(kinds) > 1 or self._reader.nested(name):
            return None
        try:
            return arrow.array(column) if kinds else arrow.nulls(len(column), arrow_type(field.type))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            return None


def _decimals(texts: Any, wanted: pa.DataType) -> Any:
    try:
        return texts.cast(wanted)
    except pa.ArrowInvalid:
        return cast("Any", pa).array([None if each is None else str(said(Exact(each))) for each in texts.to_pylist()])


def _keep(letters: list[tuple[Failure, str, str]], *letter: Any) -> None:
    letters.append(cast("tuple[Failure, str, str]", letter))
