"""Delta tables as sources, whoever writes them: the files of a version, what a commit adds, and their rows in batches
of the columns that a record names.

A file is read by the types of the table, so that older files give what newer ones do; columns that it lacks are null,
those by which the table is partitioned have the value that the log has of it, and rows that the log calls deleted are
left out. Whether a row is a record is the reader's matter.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from urllib.parse import unquote

import pyarrow as pa

from ghcm import types
from ghcm.errors import GhcmError, sentence, suggest
from ghcm.places import Place, Remote, delta_place, readable
from ghcm.schemas.arrow import arrow_type, type_of
from ghcm.schemas.records import Unmapped
from ghcm.stores import hint_for, understood
from ghcm.tables.delta import deltalake
from ghcm.tables.versions import actions_of, commit_file, explained
from ghcm.types import Struct, Type, is_nullable, strip
from ghcm.values.timestamps import timestamp_text

_ROWS = 16_384
_KNOWN = frozenset({"deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
"""What a table may ask of its readers."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TableFile:
    """A data file by its name in the folder of its table, the values of the columns by which that is partitioned, and
    the rows that are left, a byte for each row, where some are deleted.
    """

    name: str
    values: Mapping[str, Any]
    kept: bytes | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """What a commit adds; whether it `rewrites`: rows that were there are gone, or stand in what it adds."""

    files: tuple[TableFile, ...]
    rewrites: bool


class OpenTable:
    """A Delta table as of a version, a time (microseconds since 1970) or the newest commit, for records of a type.
    GhcmError where there is none, or it has no columns for these records. `said` is how users name its `path`.
    """

    def __init__(
        self, path: Place, said: str, record: Struct, version: int | None = None, time_us: int | None = None
    ) -> None:
        self._path = path
        self._said = said
        self._record = record
        with explained(path, "read"):
            self._table = self._open(version, time_us)
            self.version: int = self._table.version()
            self.id: str = self._table.metadata().id
            protocol = self._table.protocol()
            self._check(protocol.reader_features or (), self._table.metadata().configuration)
            self._partition = frozenset(self._table.metadata().partition_columns)
            self._columns = self._fitting(self._table.schema())

    @property
    def columns(self) -> Mapping[str, Any]:
        """The columns that the record names and the table has, in its order, with the types that they become."""
        return self._columns

    @property
    def partition(self) -> frozenset[str]:
        """The columns whose values stand in the log alone."""
        return self._partition

    @property
    def bytes(self) -> int:
        """How many bytes the files of this version have."""
        with explained(self._path, "read"):
            found: Any = cast("Any", pa).table(self._table.get_add_actions())
            return sum(found.column("size_bytes").to_pylist())

    def files(self) -> list[TableFile]:
        """The files of this version, in the order in which they were added."""
        with explained(self._path, "read"):
            found: Any = cast("Any", pa).table(self._table.get_add_actions())
            kept = _kept(self._table) if "deletionVectors" in (self._table.protocol().reader_features or ()) else {}
            names = [name for name in ("path", "modification_time", "partition") if name in found.column_names]
            adds: list[dict[str, Any]] = sorted(
                found.select(names).to_pylist(), key=lambda add: (add["modification_time"], add["path"])
            )
        named: list[tuple[str, dict[str, Any]]] = [(unquote(add["path"]), add.get("partition") or {}) for add in adds]
        return [TableFile(name, values, _of_file(name, kept)) for name, values in named]

    def commit(self, number: int) -> Commit | None:
        """What a later commit does; None where it has not come. GhcmError where it is gone, or the table is another."""
        with explained(self._path, "read"):
            if not commit_file(self._path, number).exists():
                self._check_log(number)
                return None
            found = actions_of(self._path, number)
        added = [each for action in found if (each := action.get("add")) and each["dataChange"]]
        gone = any(each["dataChange"] for action in found if (each := action.get("remove")))
        for meta in (action["metaData"] for action in found if "metaData" in action):
            self._check((), meta.get("configuration", {}))
            self._partition = frozenset(meta["partitionColumns"])
            self._columns = self._fitting(deltalake().Schema.from_json(meta["schemaString"]))
        for protocol in (action["protocol"] for action in found if "protocol" in action):
            self._check(protocol.get("readerFeatures", ()), {})
        named = ((unquote(add["path"]), self._values(add["partitionValues"])) for add in added)
        return Commit(tuple(TableFile(*each) for each in named), gone)

    def rows(self, file: TableFile, skipped: int = 0) -> Iterator[tuple[int, int, pa.RecordBatch]]:
        """The rows of a file behind the first ones, in batches with where each begins and ends in the file."""
        import pyarrow.parquet

        parquet: Any = pyarrow.parquet
        path = self._path / file.name
        if not isinstance(path, Remote) and not path.exists():
            hint = "restore that file, or read a later version: vacuum removes files that are no part of the latest."
            raise self._wrong(f'its file "{file.name}" is not there', "", hint, "GHCM-735")
        try:
            with (
                explained(self._path, "read"),
                parquet.ParquetFile(readable(path), coerce_int96_timestamp_unit="us") as opened,
            ):
                there = opened.schema_arrow.names
                names = [each for each in self._columns if each in there and each not in self._partition]
                groups, first = _groups(opened.metadata, skipped)
                for batch in opened.iter_batches(_ROWS, row_groups=groups, columns=names or there[:1]):
                    begin, end = max(first, skipped), first + batch.num_rows
                    if begin < end:
                        yield begin, end, self._whole(batch.slice(begin - first), file, begin)
                    first = end
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise self._wrong(f'its file "{file.name}" is damaged', sentence(error), "see that it is whole.") from error

    def _whole(self, batch: Any, file: TableFile, begin: int) -> Any:
        """The columns that the record names, without rows that are deleted."""
        arrow, columns = cast("Any", pa), list[Any]()
        for name, type_ in self._columns.items():
            if name not in self._partition and name in batch.schema.names:
                columns.append(batch.column(name).cast(type_))
            else:
                columns.append(arrow.repeat(arrow.scalar(file.values.get(name), type_), batch.num_rows))
        whole = arrow.record_batch(columns, names=list(self._columns))
        if file.kept is None:
            return whole
        kept = file.kept[begin : begin + batch.num_rows].ljust(batch.num_rows, b"\1")
        return whole.filter(arrow.array(map(bool, kept), arrow.bool_()))

    def _open(self, version: int | None, time_us: int | None) -> Any:
        library = deltalake()
        try:
            table = library.DeltaTable(**delta_place(self._path))
        except library.exceptions.TableNotFoundError:
            raise _nothing_there(self._path, self._said) from None
        newest = table.version()
        try:
            if version is not None and version != newest:
                table.load_as_version(version)
            elif time_us is not None:
                table.load_as_version(_EPOCH + timedelta(microseconds=time_us))
                # It goes by when files of the log were written, which is a little later than when they say.
                while table.version() < newest and 0 < self._began(table.version() + 1) <= time_us:
                    table.load_as_version(table.version() + 1)
                if self._began(table.version()) > time_us:  # it gives the oldest where none is as old
                    raise library.exceptions.DeltaError("No version is as old")
        except (library.exceptions.DeltaError, OSError) as error:
            if isinstance(understood(error, self._said), ConnectionError | PermissionError):
                raise
            at = f"version {version}" if version is not None else timestamp_text(time_us or 0)
            hint = f"it is at version {newest}; what is older than its log can no longer be read."
            detail = sentence(re.sub("^([A-Za-z ]+ error: )+", "", str(error)))
            raise self._wrong(f"it cannot be read as of {at}", detail, hint, "GHCM-732") from error
        return table

    def _began(self, version: int) -> int:
        """When a version was committed, in microseconds since 1970; 0 where the log no longer says so."""
        found = actions_of(self._path, version) if commit_file(self._path, version).exists() else []
        return max((each["commitInfo"].get("timestamp", 0) * 1000 for each in found if "commitInfo" in each), default=0)

    def _check(self, features: Any, configuration: Mapping[str, str]) -> None:
        """GhcmError where its files do not mean what they say by themselves."""
        wanted = sorted(set(features) - _KNOWN - {"columnMapping"})
        if configuration.get("delta.columnMapping.mode", "none") != "none":
            wanted.append("columnMapping")
        if wanted:
            detail = f"It asks of its readers {', '.join(wanted)}, which GHCM does not have."
            hint = "write what is to be read into a table without, with the tool that keeps this one."
            raise self._wrong("it needs another reader", detail, hint)

    def _check_log(self, number: int) -> None:
        """GhcmError where a commit that is not there was there, or where the one before, which was read, is not."""
        if commit_file(self._path, number - 1).exists():
            return
        checkpoint = -1
        with suppress(FileNotFoundError):
            text = (commit_file(self._path, 0).parent / "_last_checkpoint").read_text(encoding="utf-8")
            checkpoint = json.loads(text)["version"]
        if checkpoint == number - 1 or commit_file(self._path, number).exists():
            return
        why = (
            "The log was cleaned up before this was read." if checkpoint >= number else "The table is another one now."
        )
        raise unfollowable(self._said, f"its log no longer has commit {number}, which comes next", why)

    def _fitting(self, schema: Any) -> dict[str, Any]:
        """The columns that the record names. GhcmError where the table has others."""
        found = {field.name: field for field in cast("Any", pa).schema(schema)}
        said = {field.name: cast("dict[str, str]", field.metadata or {}).get("ghcm.type") for field in schema.fields}
        wanted: dict[str, Any] = {}
        for field in self._record.fields:
            name = field.path or field.name
            if name in found:
                self._check_fit(name, found[name].type, field.type, said[name])
                wanted[name] = arrow_type(field.type)
            elif not is_nullable(field.type):
                hint = (
                    suggest(name, found) or "a field that stands elsewhere says so, from; one that may lack ends in ?."
                )
                detail = f"Its columns are {', '.join(found)}."
                raise self._wrong(f'it has no column "{name}"', detail, hint)
        return {name: wanted[name] for name in found if name in wanted}

    def _check_fit(self, name: str, found: Any, wanted: Type, said: str | None) -> None:
        try:
            known = type_of(found)
        except Unmapped as error:
            hint = "leave the field out of the record."
            raise self._wrong(f'its column "{name}" is of a type that GHCM lacks', f"{error}.", hint) from None
        if not _fits(known, wanted, said):
            hint = f'declare the field as "{types.as_nullable(known)}"; map(...) makes others of it.'
            raise self._wrong(f'its column "{name}" is "{known}"', f'The record has "{wanted}" there.', hint)

    def _values(self, texts: Mapping[str, str | None]) -> dict[str, Any]:
        """The values by which a file is partitioned, which the log has as texts."""
        return {name: value_of(texts.get(name), self._columns[name]) for name in self._partition & self._columns.keys()}

    def _wrong(self, what: str, detail: str, hint: str, code: str = "GHCM-736") -> GhcmError:
        return GhcmError(f'cannot read table "{self._said}": {what}', code=code, detail=detail, hint=hint)


def is_table(path: Place) -> bool:
    """Whether there is a Delta table."""
    with explained(path, "read"):
        return bool(deltalake().DeltaTable.is_deltatable(*delta_place(path).values()))


def unfollowable(said: str, what: str, detail: str = "", hint: str = "") -> GhcmError:
    """A table whose commits cannot be read on."""
    hint = hint or (
        "--fresh begins with the table as it is now, and appends that to what is there; its delta.logRetentionDuration "
        "says what is kept."
    )
    return GhcmError(f'cannot follow table "{said}": {what}', code="GHCM-738", detail=detail, hint=hint)


def _nothing_there(path: Place, said: str) -> GhcmError:
    hint = "see that the path is right; --directory names another folder to start from."
    if isinstance(path, Remote):
        hint = hint_for(FileNotFoundError(), path.url)
    if path.is_dir() and any(path.glob("*.parquet")):
        hint = f'its files can be read as they are: files("{said}/*.parquet").'
    detail = f'A Delta table has a folder "_delta_log", and "{path}" has none.'
    return GhcmError(f'cannot read table "{said}": there is no Delta table', code="GHCM-735", detail=detail, hint=hint)


def _kept(table: Any) -> dict[str, bytes]:
    """The rows that are left of files in which some are deleted, by the whole names of the files."""
    found = pa.table(table.deletion_vectors()).to_pylist()
    return {unquote(each["filepath"]): bytes(each["selection_vector"]) for each in found}


def _of_file(name: str, kept: Mapping[str, bytes]) -> bytes | None:
    return next((mask for whole, mask in kept.items() if whole.endswith(f"/{name}")), None)


def value_of(text: Any, type_: Any) -> Any:
    """The value of a partition column; its text is ISO 8601 for times, without a zone in UTC. What is no text stays."""
    if not isinstance(text, str):
        return text
    plain = pa.int64() if pa.types.is_duration(type_) else type_
    plain = pa.timestamp("us") if pa.types.is_timestamp(type_) and not text.endswith("Z") else plain
    return cast("Any", pa).scalar(text).cast(plain).cast(type_).as_py()


def divided_values(columns: Struct, values: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that a file of a sink lacks, as scalars of Arrow. An empty text is null in the log; it is one again
    where the sink has no nulls.
    """
    arrow, found = cast("Any", pa), dict[str, Any]()
    for field in [each for each in columns.fields if each.name in values]:
        type_ = arrow_type(field.type, stored=True)
        value = value_of(values[field.name], type_)
        empty = value is None and not is_nullable(field.type) and pa.types.is_string(type_)
        found[field.name] = arrow.scalar("" if empty else value, type_)
    return found


def _groups(metadata: Any, skipped: int) -> tuple[list[int], int]:
    """The groups of rows of a file that are not skipped as a whole, and the rows in front of them."""
    first, groups = 0, list(range(metadata.num_row_groups))
    while groups and first + metadata.row_group(groups[0]).num_rows <= skipped:
        first += metadata.row_group(groups.pop(0)).num_rows
    return groups, first


def _fits(known: Type, wanted: Type, said: str | None, *, inside: bool = False) -> bool:
    """Whether values of one type, or what is `inside` of them, are those of another, but for nulls. `said`: the type of
    the column in the program that wrote it, which alone tells durations from integers.
    """
    match strip(known), strip(wanted):
        case types.List(item=one), types.List(item=other):
            return _fits(one, other, said, inside=True)
        case types.Map() as one, types.Map() as other:
            pairs = ((one.key, other.key), (one.value, other.value))
            return all(_fits(*pair, said, inside=True) for pair in pairs)
        case types.Struct() as one, types.Struct() as other:
            there = [name for name in one.names if name in other.names]  # in the same order: so does Arrow cast
            held = ((one.field_of(name).type, other.field_of(name).type) for name in there)
            same = all(_fits(*pair, said, inside=True) for pair in held)
            rest = [field for field in other.fields if field.name not in there]
            in_order = there == [name for name in other.names if name in there]
            return same and in_order and all(is_nullable(field.type) for field in rest)
        case types.Int(), types.Duration():
            return said == "duration" or (inside and said is not None)
        case (types.Int32(), types.Int()) | (types.String(), types.Enumeration()):
            return True
        case types.Decimal() as one, types.Decimal() as other:
            return one.scale <= other.scale and one.precision - one.scale <= other.precision - other.scale
        case one, other:
            return one == other
