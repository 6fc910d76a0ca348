"""What is read of a database: a table or a query, in parts, in an order that is the same every time.

What the rows mean is not known here; see `ghcm.formats.database_rows`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

from ghcm.errors import GhcmError
from ghcm.tables.database import Database, sqlalchemy

Choose: TypeAlias = Callable[[str, Sequence[str]], Mapping[str, bool]]
"""The wanted ones of the columns of what has a name, and whether each is nested."""

_ROWS = 16_384
_BYTES = 4 << 20
"""Of columns that Arrow's own driver gives at a time."""
CUT_AT: Mapping[str, Callable[[str], object]] = {
    "int": int,
    "float": float,
    "Decimal": Decimal,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
}
"""The values that a range can be cut at, and how a position tells them."""


class Query:
    """What is asked of the database, in an order that is the same every time."""

    def __init__(self, database: Database, table: str, query: str, split: str, parts: int, choose: Choose) -> None:
        self._database, self._query, self._split, self._parts = database, query, split, parts
        self._choose, self._library = choose, sqlalchemy()
        where, _, plain = table.rpartition(".")
        self._place = (plain, where or None)
        self.name = f"{database.name}: {table or 'query'}"

    def cuts(self) -> list[object]:
        """The values at which the column is cut; fewer than asked for where it has few."""
        library = self._library
        if not self._split:
            return []
        column = library.column(self._split)
        with self._database.reading(f'read "{self.name}"') as connection:
            extremes = library.select(library.func.min(column), library.func.max(column))
            least, greatest = connection.execute(extremes.select_from(self._rows())).one()
        if least is None:
            return []
        odd = [each for each in (least, greatest) if type(each).__name__ not in CUT_AT]
        if odd:
            message = f'"{self.name}" cannot be split by "{self._split}"'
            hint = "split by a column of numbers, dates or timestamps; a query can compute one."
            raise GhcmError(message, code="GHCM-734", detail=f"It holds {odd[0]!r}.", hint=hint)
        width, parts = greatest - least, self._parts
        whole = isinstance(least, int)
        found = [least + (width * part // parts if whole else width * part / parts) for part in range(1, parts)]
        return sorted({cut for cut in found if cut > least})

    def read(self, part: int, skipped: int, cuts: Sequence[Any]) -> Iterator[tuple[list[str], list[tuple[Any, ...]]]]:
        """The names of columns and the rows of a part behind the first ones, some at a time."""
        if part > len(cuts):
            return
        with self._database.reading(f'read "{self.name}"') as connection:
            names, asked = self._asked(connection, part, skipped, cuts)
            with connection.execute(asked) as found:
                for rows in found.partitions(_ROWS):
                    yield names, list(map(tuple, rows))

    def columns(self, part: int, skipped: int, cuts: Sequence[Any]) -> Iterator[pa.RecordBatch]:
        """The same rows by Arrow's own driver, of which `arrow_types` knows that there is one."""
        if part > len(cuts):
            return
        with self._database.reading(doing := f'read "{self.name}"') as connection:
            _, asked = self._asked(connection, part, skipped, cuts)
        with self._database.arrow(doing) as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(_BYTES)})
            cursor.execute(self._written(asked))
            yield from cursor.fetch_record_batch()

    def arrow_types(self) -> pa.Schema | None:
        """The types of the columns by Arrow's own driver; None where there is none for this database, or it fails."""
        with self._database.reading(doing := f'read "{self.name}"') as connection:
            _, asked = self._asked(connection, 0, 0, ())
        with suppress(GhcmError), self._database.arrow(doing) as cursor:
            return None if cursor is None else cursor.adbc_execute_schema(self._written(asked))
        return None

    def check(self) -> None:
        """See that it can be read. GhcmError where not."""
        with self._database.reading(f'read "{self.name}"') as connection:
            self._names(connection)

    def _asked(self, connection: Any, part: int, skipped: int, cuts: Sequence[Any]) -> tuple[list[str], Any]:
        """The names of the columns of a part, and the statement that asks for its rows behind the first ones."""
        library = self._library
        names = self._names(connection)
        chosen = [self._chosen(name, nested) for name, nested in names.items()]
        asked = library.select(*chosen).select_from(self._rows()).order_by(*self._order(connection, chosen))
        split = library.column(self._split)
        if part > 0:
            asked = asked.where(split >= cuts[part - 1])
        if part < len(cuts):
            below = split < cuts[part]
            asked = asked.where(below if part else library.or_(below, split.is_(None)))
        return list(names), asked.offset(skipped) if skipped else asked

    def _written(self, asked: Any) -> str:
        """The text of a statement, values included."""
        dialect = self._library.dialects.postgresql.dialect(paramstyle="named")
        return str(asked.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))

    def _names(self, connection: Any) -> Mapping[str, bool]:
        library = self._library
        everything = library.select(library.text("*")).select_from(self._rows())
        with connection.execute(everything.where(library.false())) as nothing:
            return self._choose(self.name, list(nothing.keys()))

    def _rows(self) -> Any:
        """What is read, as part of a statement."""
        library, (table, schema) = self._library, self._place
        if table:
            return library.table(table, schema=schema)
        query = self._query.strip().rstrip(";").replace(":", "\\:")
        return library.text(f"({query}) AS ghcm_query")

    def _chosen(self, name: str, nested: bool) -> Any:
        """A column; one that is nested as text of JSON."""
        library, column = self._library, self._library.column(name)
        if not nested:
            return column
        whole = library.func.to_json(column) if self._database.kind == "postgresql" else column
        return library.cast(whole, library.Text()).label(name)

    def _order(self, connection: Any, chosen: Sequence[Any]) -> Sequence[Any]:
        library, key = self._library, list[str]()
        if self._place[0] and library.inspect(connection).has_table(*self._place):
            key = library.inspect(connection).get_pk_constraint(*self._place)["constrained_columns"]
        first = [library.column(self._split)] if self._split else []
        return [*first, *([library.column(name) for name in key] if key else chosen)]
