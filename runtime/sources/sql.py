"""The rows of a table or a query in a database as a source, read by threads beside the loop, each a range of them.

Columns of plain values are taken as the driver gives them, a batch at a time; nested ones, and values that are not of
their field's type, are read as the JSON objects of the same content would be, row by row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import time as clock
from decimal import Decimal
from functools import partial
from types import NoneType
from typing import Any, cast

import pyarrow as pa

from ghcm.errors import GhcmError
from ghcm.formats.records import column_indices, json_parser, object_reader
from ghcm.formats.tables import read_row, said
from ghcm.functions import Failure
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.chunks import BadRecord, Letters
from ghcm.runtime.formats.tables import Tables
from ghcm.runtime.sources.source import Mailbox
from ghcm.schemas.arrow import arrow_type
from ghcm.spg.connectors import SqlQuery
from ghcm.tables.database import Away, Database, sqlalchemy
from ghcm.types import Bool, Field, List, Map, String, Struct, strip
from ghcm.values import Json, has_decimal

_SAID = str | int | float | bytes | Decimal | date | clock | timedelta | list | dict | NoneType
"""What drivers give that JSON has words for; anything else, as a UUID, is its text."""
_ROWS = 16_384
_PREFETCHED = 4
_PATIENCE_S, _PAUSE_S = 30.0, 0.5
_KINDS: Mapping[str, Callable[[str], object]] = {
    "int": int,
    "float": float,
    "Decimal": Decimal,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}
"""The values that a range can be cut at, and how a position tells them."""


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

    def __init__(self, connector: SqlQuery, schema: Struct, partition: str, database: Database) -> None:
        self._query = Query(connector, schema, database)
        self._schema = schema
        parts = connector.parts
        self._names = [f"{partition}:{part}" for part in range(parts)] if parts > 1 else [partition]
        self._cuts: list[object] | None = None
        self._given = [0] * parts
        self._mailbox = Mailbox[list[object] | _Rows](_PREFETCHED)

    def open(self, position: object, wake: Callable[[], None]) -> None:
        if isinstance(position, Mapping):
            known = cast("Mapping[str, Any]", position)
            self._given = list(known["rows"])
            if known["cuts"] is not None:
                self._cuts = [_KINDS[kind](text) for kind, text in known["cuts"]]
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
            cuts = self._query.cuts()
            self._mailbox.put(cuts)
        for part in [part for part, rows in enumerate(given) if rows >= 0]:
            self._mailbox.feed(f"ghcm-sql-{part}", partial(self._read, part, given[part], cuts), wake)

    def _read(self, part: int, given: int, cuts: Sequence[object]) -> None:
        """The thread of a part: leave its rows in the mailbox. A database that is away is waited for."""
        decoder = Decoder(self._schema, self._query.name, self._names[part])
        patience = time.monotonic() + _PATIENCE_S
        while True:
            try:
                for names, rows in self._query.read(part, given, cuts):
                    letters = list[tuple[Failure, str, str]]()
                    batch = decoder.decode(names, rows, given, partial(_keep, letters))
                    if not self._mailbox.put(_Rows(part, len(rows), batch, letters)):
                        return
                    given += len(rows)
                    patience = time.monotonic() + _PATIENCE_S
            except GhcmError as error:
                if not isinstance(error.__cause__, Away) or time.monotonic() > patience:
                    raise
                time.sleep(_PAUSE_S)
            else:
                self._mailbox.put(_Rows(part, 0, None, ()))
                return


def _keep(letters: list[tuple[Failure, str, str]], *letter: Any) -> None:
    letters.append(cast("tuple[Failure, str, str]", letter))


class Query:
    """What is asked of the database, in an order that is the same every time."""

    def __init__(self, connector: SqlQuery, schema: Struct, database: Database) -> None:
        self._connector, self._schema, self._database = connector, schema, database
        self._library = sqlalchemy()
        where, _, plain = connector.table.rpartition(".")
        self._place = (plain, where or None)
        self.name = f"{connector.connection}: {connector.table or 'query'}"

    def cuts(self) -> list[object]:
        """The values at which the column is cut; fewer than asked for where it has few."""
        library, connector = self._library, self._connector
        if not connector.split:
            return []
        column = library.column(connector.split)
        with self._database.reading(f'read "{self.name}"') as connection:
            extremes = library.select(library.func.min(column), library.func.max(column))
            least, greatest = connection.execute(extremes.select_from(self._rows())).one()
        if least is None:
            return []
        odd = [each for each in (least, greatest) if type(each).__name__ not in _KINDS]
        if odd:
            message = f'"{self.name}" cannot be split by "{connector.split}"'
            hint = "split by a column of numbers, dates or timestamps; a query can compute one."
            raise GhcmError(message, code="GHCM-734", detail=f"It holds {odd[0]!r}.", hint=hint)
        width, parts = greatest - least, connector.parts
        whole = isinstance(least, int)
        found = [least + (width * part // parts if whole else width * part / parts) for part in range(1, parts)]
        return sorted({cut for cut in found if cut > least})

    def read(self, part: int, skipped: int, cuts: Sequence[Any]) -> Iterator[tuple[list[str], list[Row]]]:
        """The names of columns and the rows of a part behind the first ones, some at a time."""
        library = self._library
        if part > len(cuts):
            return
        with self._database.reading(f'read "{self.name}"') as connection:
            everything = library.select(library.text("*")).select_from(self._rows())
            with connection.execute(everything.where(library.false())) as nothing:
                header = list(nothing.keys())
            names = wanted(self._schema, header, self.name)
            chosen = [self._chosen(name) for name in names]
            asked = library.select(*chosen).select_from(self._rows()).order_by(*self._order(connection, chosen))
            split = library.column(self._connector.split)
            if part > 0:
                asked = asked.where(split >= cuts[part - 1])
            if part < len(cuts):
                below = split < cuts[part]
                asked = asked.where(below if part else library.or_(below, split.is_(None)))
            with connection.execute(asked.offset(skipped) if skipped else asked) as found:
                for rows in found.partitions(_ROWS):
                    yield names, list(map(tuple, rows))

    def _rows(self) -> Any:
        """What is read, as part of a statement."""
        library, (table, schema) = self._library, self._place
        if table:
            return library.table(table, schema=schema)
        query = self._connector.query.strip().rstrip(";").replace(":", "\\:")
        return library.text(f"({query}) AS ghcm_query")

    def _chosen(self, name: str) -> Any:
        """A column; one that is nested as text of JSON."""
        library, column = self._library, self._library.column(name)
        if not is_nested(self._schema, name):
            return column
        whole = library.func.to_json(column) if self._database.kind == "postgresql" else column
        return library.cast(whole, library.Text()).label(name)

    def _order(self, connection: Any, chosen: Sequence[Any]) -> Sequence[Any]:
        library, connector = self._library, self._connector
        key = list[str]()
        if connector.table and self._library.inspect(connection).has_table(*self._place):
            key = library.inspect(connection).get_pk_constraint(*self._place)["constrained_columns"]
        first = [library.column(connector.split)] if connector.split else []
        return [*first, *([library.column(name) for name in key] if key else chosen)]


class Decoder:
    """Rows into records."""

    def __init__(self, schema: Struct, name: str, partition: str) -> None:
        self._schema, self._name, self._partition = schema, name, partition
        self._read, self._parse = object_reader(schema), json_parser(written=has_decimal(schema))

    def decode(self, names: Sequence[str], rows: Sequence[Row], number: int, letters: Letters) -> Batch:
        """The records of rows of these columns, of which so many came before."""
        columns = [self._plain(name, column) for name, column in zip(names, zip(*rows, strict=True), strict=True)]
        arrays = [self._array(name, column) for name, column in zip(names, columns, strict=True)]
        known = [array for array in arrays if array is not None]
        if len(known) == len(arrays):
            tables = Tables(self._schema, self._name, self._partition, number=number)
            return tables.add(pa.RecordBatch.from_arrays(known, names=list(names)), letters)
        records: list[Row] = []
        for place, values in enumerate(zip(*columns, strict=True), number + 1):
            row, text, error = self._record(names, values)
            if row is None:
                letters(BadRecord, f"{self._name}:{place}: {error}", text or "")
            else:
                records.append(row)
        return Batch.from_rows(self._schema, records, partition=self._partition)

    def _record(self, names: Sequence[str], values: Row) -> tuple[Row | None, str | None, str | None]:
        record: dict[str, Json] = {}
        try:
            for name, value in zip(names, values, strict=True):
                text = isinstance(value, str) and is_nested(self._schema, name)
                record[name] = self._parse(f'{{"":{value}}}')[""] if text else said(value)
        except (ValueError, OverflowError) as error:
            return None, str(values), str(error)
        return read_row(record, self._read)

    def _plain(self, name: str, column: Sequence[Any]) -> Sequence[Any]:
        """The values as their field has them, where the driver has types of its own for them."""
        field = _field(self._schema, name)
        type_ = None if field is None else strip(field.type)
        if isinstance(type_, Bool) and set(column) <= {0, 1, None}:
            return [None if value is None else bool(value) for value in column]
        if isinstance(type_, String) and not set(map(type, column)) <= {str, NoneType}:
            return [value if isinstance(value, _SAID) else str(value) for value in column]
        return column

    def _array(self, name: str, column: Sequence[Any]) -> Any:
        """The values as an Arrow array; None where they have to be looked at."""
        field, kinds, arrow = _field(self._schema, name), set(map(type, column)) - {NoneType}, cast("Any", pa)
        if field is None or len(kinds) > 1 or is_nested(self._schema, name):
            return None
        try:
            return arrow.array(column) if kinds else arrow.nulls(len(column), arrow_type(field.type))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
            return None


def wanted(schema: Struct, header: Sequence[str], name: str) -> list[str]:
    """The columns that hold fields of the record. GhcmError where one lacks."""
    paths = [field.path or field.name for field in schema.fields]
    inside = [path for path in paths if path not in header and path.partition(".")[0] in header]
    column_indices(name, [*header, *inside], schema)
    chosen = {path if path in header else path.partition(".")[0] for path in paths}
    return [column for column in header if column in chosen]


def is_nested(schema: Struct, column: str) -> bool:
    """Whether a column holds more than single values: then it is read as JSON."""
    field = _field(schema, column)
    return field is None or isinstance(strip(field.type), Struct | List | Map)


def _field(schema: Struct, column: str) -> Field | None:
    return next((field for field in schema.fields if (field.path or field.name) == column), None)
