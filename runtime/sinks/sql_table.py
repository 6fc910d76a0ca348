"""The tables of a database that one sink has: the one that readers see, and ours beside it.

::

    <table>               what readers see
    ghcm_staged_<hash>    part, place, gone, the columns: rows that are written and not yet seen, in parts of one
                          writer, and with a number for gone those whose keys are to go
    ghcm_versions         what is prepared or committed: of which table, whose, where staged, how many rows, when
    ghcm_fences           by table and program the token of the daemon that has written last, where several may

A version becomes visible in one transaction that also notes its series and number (see `ghcm.tables.versions`), so that
a commit that is repeated is recognised. What a call wrote stays staged for ten minutes, for who asks for its rows; of
what streams write the latest version does.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ghcm import types
from ghcm.errors import GhcmError
from ghcm.fence import Fence
from ghcm.tables.database import READS, Database, sqlalchemy
from ghcm.tables.versions import now_us, series_of
from ghcm.types import Struct, Type, is_nullable, strip

VERSIONS, _FENCES = "ghcm_versions", "ghcm_fences"
PART, PLACE, GONE, _ORDER = "ghcm_part", "ghcm_place", "ghcm_gone", "ghcm_order"
_KEPT_US = 600 * 1_000_000
_CALLS_US = 7 * 24 * 3600 * 1_000_000
"""How long it is known that a call has committed."""

_VERSIONS: Mapping[str, str] = {
    **dict.fromkeys(("place", "version", "series", "part", "writer"), "text"),
    **dict.fromkeys(("number", "rows", "time"), "bigint"),
}

_FENCE: Mapping[str, str] = {"place": "text", "program": "text", "token": "bigint"}

_POSTGRES: Mapping[type[Type], str] = {
    types.Bool: "boolean", types.Int: "bigint", types.Int32: "integer", types.Float: "double precision",
    types.String: "text", types.Enumeration: "text", types.Null: "text", types.Bytes: "bytea", types.Date: "date",
    types.Timestamp: "timestamp with time zone", types.Duration: "bigint",
}  # fmt: skip
_SQLITE: Mapping[type[Type], str] = {
    types.Bool: "boolean", types.Int: "integer", types.Int32: "integer", types.Float: "double", types.Bytes: "blob",
    types.Duration: "integer",
}  # fmt: skip
"""The types of columns: a duration is a number of microseconds; JSON, and in SQLite whatever else has no type of its
own, is text."""

_ALSO = {"integer": "bigint", "text": r"varchar.*", "json": "jsonb", "double": "real|float|double precision"}


@dataclass(frozen=True, slots=True)
class Note:
    """A version that is prepared, or committed: then `time` says when (microseconds since 1970 UTC)."""

    version: str
    part: str
    rows: int
    writer: str
    time: int | None


class SqlTable:
    """A table by its name, with its schema before a dot where it is not the usual one; `key`: the columns that it
    keeps one row for.
    """

    def __init__(
        self, database: Database, name: str, columns: Struct, key: Sequence[str], fence: Fence | None = None
    ) -> None:
        if database.kind not in ("postgresql", "sqlite"):
            message = f'"{name}" cannot be a sink: "{database.name}" is a database of {database.kind}'
            raise GhcmError(message, code="GHCM-734", hint="sinks are tables of PostgreSQL or SQLite.")
        self.database, self.name, self.columns, self.key = database, name, columns, key
        self._fence = fence
        self.postgres = database.kind == "postgresql"
        schema, _, plain = name.rpartition(".")
        self._schema, self._plain = schema or None, plain
        self._staged = f"ghcm_staged_{hashlib.md5(plain.encode(), usedforsecurity=False).hexdigest()[:16]}"
        self._library = sqlalchemy()

    def exists(self, connection: Any) -> bool:
        """Whether there is the table, and that of the versions."""
        found = self._library.inspect(connection)
        return all(found.has_table(each, schema=self._schema) for each in (self._plain, VERSIONS))

    def make(self) -> None:
        """Make the tables that are missing and give others the columns that they lack. GhcmError where the table cannot
        take these records.
        """
        if not self.postgres:
            self.database.share()
        columns, null = self._columns(staged=False), self._columns(staged=True)
        with self.database.writing(f'prepare the table "{self.name}"') as connection:
            if self.postgres:  # of two that make one table at a time one would fail
                connection.exec_driver_sql("SELECT pg_advisory_xact_lock(1734894445)")
            inspector, staged = self._library.inspect(connection), {PART: "text", PLACE: "bigint"}
            for name, wanted, key in (
                (VERSIONS, _VERSIONS, ("place", "version")),
                *([(_FENCES, _FENCE, ("place", "program"))] if self._fence is not None else []),
                (self._staged, staged | {GONE: "bigint"} | null, tuple(staged)),
                (self._plain, columns, self.key),
            ):
                if not inspector.has_table(name, schema=self._schema):
                    parts = [f"{self._quoted(each)} {type_}" for each, type_ in wanted.items()]
                    parts += [f"PRIMARY KEY ({', '.join(map(self._quoted, key))})"] if key else []
                    connection.exec_driver_sql(f"CREATE TABLE {self._named(name)} ({', '.join(parts)})")
                elif name not in (VERSIONS, _FENCES):
                    self._fit(connection, inspector.get_columns(name, schema=self._schema), name, wanted)
            if self.key and set(self.key) not in self._unique(self._library.inspect(connection)):
                raise self._refused(
                    f"It has no primary key and no unique index of {', '.join(self.key)} alone.",
                    hint="make one: create unique index on ...; or write to another table.",
                )

    def _columns(self, *, staged: bool) -> dict[str, str]:
        known = _POSTGRES if self.postgres else _SQLITE
        found = dict[str, str]()
        for field in self.columns.fields:
            plain = strip(field.type)
            type_ = known.get(type(plain), "json" if self.postgres else "text")
            if isinstance(plain, types.Decimal) and self.postgres:
                type_ = f"numeric({plain.precision}, {plain.scale})"
            found[field.name] = type_ if staged or is_nullable(field.type) else f"{type_} NOT NULL"
        return found

    def _fit(self, connection: Any, there: Sequence[Any], name: str, wanted: Mapping[str, str]) -> None:
        """Give a table the columns that it lacks. GhcmError where it differs in more than columns that may be null."""
        dialect, found = self.database.engine.dialect, {each["name"]: each for each in there}
        for column, type_ in wanted.items():
            old, plain = found.pop(column, None), type_.removesuffix(" NOT NULL")
            if old is None and plain != type_:
                raise self._refused(f'It has no column "{column}", and its rows cannot be null there.')
            if old is None:
                connection.exec_driver_sql(f"ALTER TABLE {self._named(name)} ADD {self._quoted(column)} {type_}")
                continue
            held = str(old["type"].compile(dialect)).lower()
            if not _holds(held, plain):
                raise self._refused(f'Its column "{column}" is {held}, and that of these records {plain}.')
            if plain == type_ and not old["nullable"] and name == self._plain:
                raise self._refused(f'Its column "{column}" holds no nulls, and that of these records does.')
        for column, old in found.items():
            if not (old["nullable"] or old.get("default") is not None or old.get("identity")):
                raise self._refused(f'Its column "{column}" cannot be null, and these records do not have it.')

    def _unique(self, inspector: Any) -> list[set[str]]:
        """The columns of which the table holds each combination once."""
        place = (self._plain, self._schema)
        keys = [inspector.get_pk_constraint(*place)["constrained_columns"]]
        keys += [each["column_names"] for each in inspector.get_unique_constraints(*place)]
        for each in inspector.get_indexes(*place):
            partial = any(name.endswith("_where") for name in each.get("dialect_options", {}))
            keys += [each["column_names"]] if each["unique"] and not partial else []
        return [set(each) for each in keys]

    def _refused(self, why: str, hint: str = "") -> GhcmError:
        hint = hint or "a new column has to be nullable; else write to another table, or drop this one."
        message = f'the table "{self.name}" of "{self.database.name}" cannot take these records'
        return GhcmError(message, code="GHCM-734", detail=why, hint=hint)

    def _quoted(self, name: str) -> str:
        return str(self.database.engine.dialect.identifier_preparer.quote_identifier(name))

    def _named(self, name: str) -> str:
        return ".".join(map(self._quoted, filter(None, (self._schema, name))))

    def _table(self, name: str, *columns: str) -> Any:
        library = self._library
        return library.table(name, *map(library.column, columns), schema=self._schema)

    @property
    def seen(self) -> Any:
        """The table that readers see."""
        return self._table(self._plain, *self.columns.names)

    @property
    def staged(self) -> Any:
        """The table of what is staged."""
        return self._table(self._staged, PART, PLACE, GONE, *self.columns.names)

    @property
    def filling(self) -> tuple[str, list[str]]:
        """How statements name the table of what is staged, and its columns."""
        return self._named(self._staged), list(map(self._quoted, (PART, PLACE, GONE, *self.columns.names)))

    def pass_fence(self, connection: Any) -> None:
        """Note our token; others wait until the end of the transaction. GhcmError where a newer one is noted."""
        if self._fence is None:
            return
        fences, dialect = self._table(_FENCES, *_FENCE), getattr(self._library.dialects, self.database.kind)
        mine = {"place": self._plain, "program": self._fence.program}
        noting = dialect.insert(fences).values(mine | {"token": self._fence.held().token})
        newer = {"token": noting.excluded.token}
        larger = fences.c.token < noting.excluded.token
        connection.execute(noting.on_conflict_do_update(index_elements=tuple(mine), set_=newer, where=larger))
        here = (fences.c.place == self._plain, fences.c.program == self._fence.program)
        self._fence.check(connection.execute(self._library.select(fences.c.token).where(*here)).scalar())

    # --- versions -----------------------------------------------------------------------------------------------------

    def note(self, connection: Any, version: str) -> Note | None:
        """What is noted of a version, held until the end of the transaction; of a stream also that one behind it is
        committed.
        """
        notes, (series, number) = self._notes(), series_of(version)
        columns, here = notes.c, notes.c.place == self._plain
        asked = self._select(notes).where(here, columns.version == version)
        reads = connection.get_execution_options().get(READS)
        row = connection.execute(asked if reads else asked.with_for_update()).first()
        if row is not None:
            return Note(*row)
        later = (columns.series == series, columns.number > number, columns.time.is_not(None))
        row = connection.execute(self._select(notes).where(here, *later).limit(1)).first()
        return None if row is None else Note(version, "", 0, row.writer, row.time)

    def notes(self, connection: Any) -> list[Note]:
        """All that is noted, the oldest first, what is only prepared at the end."""
        notes = self._notes()
        rows = connection.execute(self._select(notes).where(notes.c.place == self._plain)).all()
        found = [Note(*row) for row in rows]
        return sorted(found, key=lambda note: (note.time is None, note.time or 0))

    def prepare(self, connection: Any, note: Note) -> None:
        """Note a version as prepared, in place of what a dead writer has prepared; what is committed stays."""
        notes, old = self._notes(), self.note(connection, note.version)
        if old is not None and old.part == note.part:  # an answer was lost
            return
        if old is not None and old.time is not None:
            self.drop_parts(connection, [note.part])
            return
        if old is not None:
            self.drop(connection, [old])
        series, number = series_of(note.version)
        row = {"place": self._plain, "version": note.version, "series": series, "number": number, "part": note.part}
        row |= {"rows": note.rows, "writer": note.writer, "time": None}
        connection.execute(self._library.insert(notes).values(row))

    def publish(self, connection: Any, note: Note, mode: str) -> Note:
        """Make a prepared version visible, and drop what nobody asks for any more."""
        library, notes, time = self._library, self._notes(), now_us()
        if mode == "replace":
            if self.postgres:  # of two at a time the second would leave what the first has written
                connection.exec_driver_sql(f"LOCK TABLE {self._named(self._plain)} IN SHARE ROW EXCLUSIVE MODE")
            connection.execute(library.delete(self.seen))
        if note.rows and self.key:
            connection.execute(self._removing(note.part))
        if note.rows:
            connection.execute(self._adding(note.part))
        mine = (notes.c.place == self._plain, notes.c.version == note.version)
        connection.execute(library.update(notes).where(*mine).values(time=time))
        self._purge(connection, note.version, time)
        return Note(note.version, note.part, note.rows, note.writer, time)

    def _removing(self, part: str) -> Any:
        """The statement that makes rows go whose keys a part says are gone."""
        library, staged, seen = self._library, self.staged, self.seen
        gone = library.select(staged.c[PART]).where(staged.c[PART] == part, staged.c[GONE].is_not(None))
        same = [staged.c[name] == seen.c[name] for name in self.key]
        return library.delete(seen).where(gone.where(*same).exists())

    def _adding(self, part: str) -> Any:
        """The statement that makes the rows of a part visible."""
        dialect = getattr(self._library.dialects, self.database.kind)
        adding = dialect.insert(self.seen).from_select(self.columns.names, self.rows_of(part, readable=False))
        if not self.key:
            return adding
        others = {name: adding.excluded[name] for name in self.columns.names if name not in self.key}
        if not others:
            return adding.on_conflict_do_nothing(index_elements=self.key)
        return adding.on_conflict_do_update(index_elements=self.key, set_=others)

    def rows(self) -> Any:
        """The query for all rows, in columns that are read."""
        return self._library.select(*self._chosen(self.seen.c, readable=True))

    def rows_of(self, part: str, *, readable: bool) -> Any:
        """The query for the rows of a part: in order, or where there is a key the latest of each, in that of keys."""
        library, staged = self._library, self.staged
        mine = library.select(staged).where(staged.c[PART] == part, staged.c[GONE].is_(None))
        if not self.key:
            rows = mine.subquery("mine")
            return library.select(*self._chosen(rows.c, readable=readable)).order_by(rows.c[PLACE])
        keys = [staged.c[name] for name in self.key]
        order = library.func.row_number().over(partition_by=keys, order_by=staged.c[PLACE].desc())
        rows = mine.add_columns(order.label(_ORDER)).subquery("mine")
        newest = library.select(*self._chosen(rows.c, readable=readable)).where(rows.c[_ORDER] == 1)
        return newest.order_by(*(rows.c[name] for name in self.key))  # alike in all writers: none waits in a circle

    def count(self, connection: Any, query: Any) -> int:
        """How many rows a query gives."""
        library = self._library
        return int(connection.execute(library.select(library.func.count()).select_from(query.subquery())).scalar())

    def _chosen(self, columns: Any, *, readable: bool) -> list[Any]:
        found = [(columns[field.name], field.type) for field in self.columns.fields]
        return [self._readable(column, type_).label(column.name) if readable else column for column, type_ in found]

    def _readable(self, column: Any, type_: Type) -> Any:
        """The column as numbers and texts, which every driver gives as they are."""
        library = self._library
        match strip(type_):
            case types.Timestamp() if self.postgres:
                return library.cast(library.extract("epoch", column) * 1_000_000, library.BigInteger())
            case types.Date() if self.postgres:
                first = library.literal_column("DATE '1970-01-01'", library.Date())
                return library.type_coerce(column.op("-")(first), library.Integer())
            case types.Struct() | types.List() | types.Map():
                return library.cast(column, library.Text())
            case _:  # any other is as it is
                return column

    def drop(self, connection: Any, dropped: Sequence[Note]) -> None:
        """Drop versions with what is staged for them."""
        notes = self._notes()
        versions = [note.version for note in dropped]
        here = (notes.c.place == self._plain, notes.c.version.in_(versions))
        connection.execute(self._library.delete(notes).where(*here))
        self.drop_parts(connection, [note.part for note in dropped])

    def drop_parts(self, connection: Any, parts: Sequence[str], begin: int = 0) -> None:
        """Drop what is staged in some parts, from this place on."""
        staged = self.staged
        if parts:
            gone = (staged.c[PART].in_(parts), staged.c[PLACE] >= begin)
            connection.execute(self._library.delete(staged).where(*gone))

    def parts(self, connection: Any) -> list[str]:
        """The parts that are staged."""
        return list(connection.execute(self._library.select(self.staged.c[PART]).distinct()).scalars())

    def _purge(self, connection: Any, version: str, now: int) -> None:
        library, notes, (series, number) = self._library, self._notes(), series_of(version)
        columns, here = notes.c, notes.c.place == self._plain
        done, numbered = (here, columns.time.is_not(None)), columns.series != columns.version
        superseded = library.and_(columns.series == series, columns.number < number)
        old = columns.time < now - _KEPT_US
        staged = self._select(notes).where(
            *done, columns.part != "", library.or_(superseded, library.and_(old, ~numbered))
        )
        if parts := [row.part for row in connection.execute(staged)]:
            self.drop_parts(connection, parts)
            connection.execute(library.update(notes).where(*done, columns.part.in_(parts)).values(part=""))
        forgotten = library.or_(library.and_(superseded, old), library.and_(~numbered, columns.time < now - _CALLS_US))
        connection.execute(library.delete(notes).where(*done, forgotten))

    def _notes(self) -> Any:
        return self._table(VERSIONS, *_VERSIONS)

    def _select(self, notes: Any) -> Any:
        columns = notes.c
        return self._library.select(columns.version, columns.part, columns.rows, columns.writer, columns.time)


def _holds(held: str, wanted: str) -> bool:
    """Whether a column of a type holds every value of the wanted one as it is."""
    if wanted.startswith("numeric") and (found := re.fullmatch(r"numeric(?:\((\d+), (\d+)\))?", held)):
        precision, scale = map(int, re.findall(r"\d+", wanted))
        digits = precision - scale
        return found[1] is None or (int(found[1]) - int(found[2]) >= digits and int(found[2]) >= scale)
    return held == wanted or re.fullmatch(_ALSO.get(wanted, wanted), held) is not None
