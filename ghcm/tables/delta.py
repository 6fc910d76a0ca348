"""Delta tables: Parquet files and a log of commits that many tools read, committed through `deltalake`.

A version of ours is one commit, which says in its information whose it is (`ghcm.version`, `ghcm.writer`,
`ghcm.rows`), and as an application's transaction that it is done, so that a repeated one is recognised. Data files get
their second name in the folder with the commit; the first one, among what is staged, outlives every vacuum.
"""

import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import pyarrow

from ghcm.durable import sync
from ghcm.errors import GhcmError
from ghcm.fence import Fence
from ghcm.places import Place, delta_place, machine, names_in, readable
from ghcm.tables.delta_columns import LEAVES, arrow_schema, lacking, last_by_arrow, last_of_each, refused
from ghcm.tables.partitions import folder_of, texts_among, values_in
from ghcm.tables.versions import (
    KEPT,
    STAGING,
    DataFile,
    Version,
    actions_of,
    alone,
    commit_file,
    link,
    no_version,
    now_us,
    plain_files,
    safe_name,
    series_of,
    sync_folders,
)
from ghcm.types import Struct, is_nullable
from ghcm.version import __version__

_log = logging.getLogger(__name__)

_CONFIGURATION = {
    "delta.checkpointInterval": "25",
    "delta.logRetentionDuration": "interval 1 hour",
    "delta.deletedFileRetentionDuration": "interval 1 hour",
    "delta.setTransactionRetentionDuration": "interval 7 days",
}
_MANY = 40
"""Commits from one compaction to the next, which wants half as many live files: one that comes late leaves fewer."""
_FILE_BYTES = 128 * 1024 * 1024
_TRIES = 20
_COMPACTS, _COMPACTS_S, _MACHINES = "ghcm.compacts", 3600, 1 << 20
"""Who compacts a table in a store: seconds since 1970, and the machine in the last bits; and for how long it does."""
_MERGED_SECONDS = 600
"""How long the rows of a call that has upserted are kept for who asks for them."""


def deltalake() -> Any:
    """The library that knows Delta tables. GhcmError where it is not installed."""
    try:
        import deltalake as library
    except ImportError as error:
        raise GhcmError(
            "Delta tables need the Python package deltalake, which is not installed",
            code="GHCM-734",
            hint="install it for the Python that runs this: pip install deltalake",
        ) from error
    return library


class DeltaTable:
    """A folder that is a Delta table or becomes one. Who writes gives its `columns` and the names of those that divide
    its files (`partition`), who upserts those of the `key`, and who may lose the right to write the `fence`.
    `last_places` does what `last_by_arrow` does.
    """

    def __init__(
        self,
        path: Place,
        columns: Struct | None = None,
        key: Sequence[str] = (),
        partition: Sequence[str] = (),
        fence: Fence | None = None,
        last_places: Callable[[Any], Any] = last_by_arrow,
    ) -> None:
        self._fence = fence
        self._last_places = last_places
        self.path = path
        self._log = path / "_delta_log"
        self._columns = columns
        self._key = key
        self._partition = list(partition)
        self._texts = texts_among(columns, partition) if columns is not None else []
        self._table: Any = None
        self._asked: dict[str, Any] = {}
        self._known: dict[int, Version | None] = {}
        self._lasting = -1
        """The newest commit that was brought to disk from here."""
        self.untidy = False
        """Whether so many commits have come since small files were compacted that it is time again."""

    @property
    def foreign(self) -> bool:
        """Whether it holds files that are no such table."""
        return not self._log.is_dir() and not (self.path / STAGING).is_dir() and bool(plain_files(self.path))

    def newest(self) -> Iterator[Version]:
        """The versions that can still be told apart, newest first. A commit of another program that changes data is the
        version of its number.
        """
        names = names_in(self._log)
        numbers = sorted(int(name[:20]) for name in names if re.fullmatch(r"[0-9]{20}[.]json", name))
        self._known = {number: self._known[number] for number in numbers if number in self._known}
        for number in reversed(numbers):
            if number not in self._known:
                with suppress(FileNotFoundError):  # cleaned up only now
                    self._known[number] = _commit(self.path, number)
            if (found := self._known.get(number)) is not None:
                yield found

    def commits(self) -> list[Version]:
        """The same, oldest first."""
        return list(self.newest())[::-1]

    def committed(self, version: str) -> Version | None:
        """The commit of that version, or None."""
        series, number = series_of(version)
        table = self._current()
        done = None if table is None else table.transaction_version(series)
        if done is None or done < number:
            return None
        return self._find(version) or Version(version, 0, now_us(), (), replaces=False, order=0)

    def live(self, version: str | None = None) -> list[DataFile]:
        """The files that a reader sees, oldest first, now or as of a version. GhcmError if that is not there."""
        if (table := self.as_of(version)) is None:
            return [DataFile(name, 0) for name in plain_files(self.path)] if self.foreign else []
        files = cast("Any", pyarrow).table(table.get_add_actions())
        asked = {"path", "modification_time", "num_records", "partition"}.intersection(files.column_names)
        found: list[dict[str, Any]] = files.select([*asked]).to_pylist()
        found.sort(key=lambda file: (file["modification_time"], file["path"]))
        return [DataFile(unquote(f["path"]), f.get("num_records") or 0, f.get("partition") or {}) for f in found]

    def as_of(self, version: str | None) -> Any:
        """The table as `deltalake` has it, now (None where there is none) or as of a version."""
        at = {} if version is None else {"version": self._there(version).order}
        return deltalake().DeltaTable(**delta_place(self.path), **at) if at else self._current()

    def written(self, version: str) -> list[DataFile]:
        """The files with the rows that a version added. GhcmError if it is not there."""
        merged = self._merged(version)
        if merged.exists():
            import pyarrow.parquet

            name = f"{STAGING}/{KEPT[0]}/{merged.name}"
            return [DataFile(name, cast("Any", pyarrow.parquet).read_metadata(readable(merged)).num_rows)]
        return list(self._there(version).files)

    def fit(self, mode: str) -> None:
        """Give an existing table the columns that it lacks. GhcmError where it cannot take these records."""
        table = self._current()
        if table is not None:
            self._check_partition(table)
        if table is None or mode == "replace":  # which also replaces the columns
            return
        if missing := lacking(self.path, table.schema(), self._schema()):
            table.alter.add_columns(missing)

    def publish(self, version: str, mode: str, staged: Place, files: Sequence[DataFile], writer: str) -> Version:
        """Make staged files visible as a version, unless it is committed already. What is staged stays where it is for
        whoever has staged it to drop, so that this can be repeated after a crash.
        """
        rows = sum(file.rows for file in files)
        series, number = series_of(version)
        library = deltalake()
        said = {"ghcm": __version__, "ghcm.version": version, "ghcm.writer": writer, "ghcm.rows": str(rows)}
        done = library.Transaction(series, number, now_us() // 1000)
        again = None if mode == "append" else 0  # `deltalake` does not see all that is in the way of a replacement

        def properties(table: Any) -> Any:
            return library.CommitProperties(said, again, [done, *self._token(table)])

        left = _TRIES
        while (found := self.committed(version)) is None:
            try:
                before, last = self._commit(version, mode, staged, files, properties)
            except library.exceptions.CommitFailedError:  # another was faster
                left -= 1
                if not left:
                    raise
            else:
                self.untidy = before // _MANY != last // _MANY
                return Version(version, rows, now_us(), (), mode != "append", last)
        return found

    def _token(self, table: Any) -> list[Any]:
        """Our token as the transaction of an application, in which others with the same are in the way: one that is
        newer was seen by no commit behind it. GhcmError where the table has a newer one.
        """
        if self._fence is None:
            return []
        name = f"ghcm.fence.{self._fence.program}"
        return [
            deltalake().Transaction(name, self._fence.check(table.transaction_version(name)).token, now_us() // 1000)
        ]

    def discard(self, version: str, files: Sequence[DataFile]) -> None:
        """Drop what an interrupted `publish` has left of a version that is not committed."""
        for file in files:
            (self.path / file.name).unlink(missing_ok=True)

    def tidy(self) -> None:
        """Compact small files, and remove those that nobody can ask for any more. May run beside a writer."""
        library = deltalake()
        packed = library.WriterProperties(compression="ZSTD")
        try:
            with alone(self.path):
                table = library.DeltaTable(**delta_place(self.path))
                if len(table.file_uris()) >= _MANY // 2 and (isinstance(self.path, Path) or self._compacts(table)):
                    before = table.version()
                    table.optimize.compact(target_size=_FILE_BYTES, writer_properties=packed)
                    self._sync(before, table.version(), files=True)
                table.cleanup_metadata()
                table.vacuum(retention_hours=1, dry_run=False, enforce_retention_duration=False, full=True)
            for merged in (self.path / STAGING / KEPT[0]).glob("*.parquet"):
                if time.time() - merged.stat().st_mtime > _MERGED_SECONDS:
                    merged.unlink(missing_ok=True)
        except (library.exceptions.DeltaError, OSError) as error:  # the next one does it
            _log.info("%s: small files stay: %s", self.path, error)

    def _compacts(self, table: Any) -> bool:
        """Whether this machine is the one that compacts a table in a store: the last to have noted in the log that it
        does. `deltalake` does not see that two compactions are in each other's way, but of two such notes it refuses
        the second.
        """
        noted, now = table.transaction_version(_COMPACTS) or 0, int(time.time())
        mine, age = noted % _MACHINES == machine() % _MACHINES, now - noted // _MACHINES
        if age < (_COMPACTS_S // 2 if mine else _COMPACTS_S):
            return mine
        note = deltalake().Transaction(_COMPACTS, now * _MACHINES + machine() % _MACHINES, now * 1000)
        said = deltalake().CommitProperties(app_transactions=[note])
        by = table.metadata().partition_columns
        table.create_write_transaction([], "append", table.schema(), by, commit_properties=said)
        table.update_incremental()
        return True

    def _commit(
        self, version: str, mode: str, staged: Place, files: Sequence[DataFile], of: Callable[[Any], Any]
    ) -> tuple[int, int]:
        """One commit, with the properties `of` the table as it is, brought to disk; the numbers of the commits before
        and after.
        """
        with nullcontext() if mode == "append" else alone(self.path):
            table = self._table if mode == "append" and self._table else self._open()
            before, properties = table.version(), of(table)
            merges = mode == "upsert" and bool(files)
            if merges:
                names, kept = [staged / file.name for file in files], self._merged(version)
                places = self._last_places
                self._merge(table, last_of_each(names, self._key, self._texts, kept, places), properties)
            else:
                self._add(table, mode, staged, files, properties)
                table.update_incremental()
        self._sync(before, table.version(), files=merges)
        return before, table.version()

    def _sync(self, before: int, last: int, *, files: bool) -> None:
        """Bring the commits behind one to disk, with checkpoints of the log, and that one unless it was from here: it
        may have made the table. `files`: the library has written some; these come before the log that names them.
        """
        if not isinstance(self.path, Path):
            return
        log, known = self.path / "_delta_log", self._lasting >= before
        if files:
            with suppress(FileNotFoundError):  # of others, who clean up
                for number in range(before + 1, last + 1):
                    for action in actions_of(self.path, number):
                        if (added := action.get("add")) is not None:
                            sync(self.path / unquote(added["path"]))
        if files or not known:
            sync(self.path)
        names = [commit_file(self.path, number).name for number in range(before + known, last + 1)]
        made = [each for each in (f"{name[:20]}.checkpoint.parquet" for name in names) if (log / each).exists()]
        for name in [*names, *made, *(["_last_checkpoint"] if made else [])]:
            with suppress(FileNotFoundError):
                sync(log / name)
        sync(log)
        self._lasting = max(self._lasting, last)

    def _add(self, table: Any, mode: str, staged: Place, files: Sequence[DataFile], properties: Any) -> None:
        library, adds = deltalake(), list[Any]()
        for file in files:
            target, values = self.path / file.name, values_in(file.name)
            folder_of(values)  # the same, but for what is too long: Spark makes folders of its own
            if [*values] != self._partition:
                fresh = "begin with --fresh, which appends to what is there"
                raise refused(self.path, "what was prepared for it is divided in another way.", fresh)
            target.parent.mkdir(parents=True, exist_ok=True)
            link(staged / file.name, target)
            if isinstance(target, Path):
                os.utime(target)  # as of now nobody takes it for what is left over
            size, stats = target.stat().st_size, json.dumps({"numRecords": file.rows})
            adds.append(library.transaction.AddAction(file.name, size, values, now_us() // 1000, True, stats))
        if isinstance(self.path, Path):
            sync_folders(self.path, files)
        schema = self._schema() if mode == "replace" else table.schema()
        how, hooks = "overwrite" if mode == "replace" else "append", _afterwards()
        table.create_write_transaction(
            adds, how, schema, self._partition, commit_properties=properties, post_commithook_properties=hooks
        )

    def _merge(self, table: Any, rows: Any, properties: Any) -> None:
        assert self._columns is not None
        null = {each.name: is_nullable(each.type) or each.name in self._texts for each in self._columns.fields}
        equal = (f"(old.`{name}` {'IS NOT DISTINCT FROM' if null[name] else '='} new.`{name}`)" for name in self._key)
        columns = {f"old.`{name}`": f"new.`{name}`" for name in self._columns.names}
        merging = table.merge(
            rows,
            " AND ".join(equal),
            source_alias="new",
            target_alias="old",
            writer_properties=deltalake().WriterProperties(compression="ZSTD"),
            commit_properties=properties,
            post_commithook_properties=_afterwards(),
        )
        merging = merging.when_matched_delete(f"new.`{LEAVES}`").when_matched_update(columns)
        merging.when_not_matched_insert(columns, f"NOT new.`{LEAVES}`").execute()

    def _merged(self, version: str) -> Place:
        """Where the rows of a version that was upserted are kept for a while: its call may be asked for them."""
        return self.path / STAGING / KEPT[0] / f"{safe_name(version)}.parquet"

    def _schema(self) -> Any:
        assert self._columns is not None
        return deltalake().Schema.from_arrow(arrow_schema(self._columns, self._texts))

    def _current(self) -> Any:
        """The table as it is now; None where there is none."""
        if isinstance(self._log, Path) and not self._log.is_dir():
            self._table = None
        elif self._table is None or self._asked != delta_place(self.path):  # keys change
            self._asked = delta_place(self.path)
            with suppress(deltalake().exceptions.TableNotFoundError):
                self._table = deltalake().DeltaTable(**self._asked)
        else:
            self._table.update_incremental()
        return self._table

    def _open(self) -> Any:
        """The table as it is now, made where there is none."""
        table = self._current()
        if table is None:
            how: dict[str, Any] = {"partition_by": self._partition, "configuration": _CONFIGURATION}
            deltalake().DeltaTable.create(**delta_place(self.path), schema=self._schema(), mode="ignore", **how)
            table = self._current()
        self._check_partition(table)
        return table

    def _check_partition(self, table: Any) -> None:
        """GhcmError where other columns divide the files than those of the sink."""
        there = list(table.metadata().partition_columns)
        if there != self._partition:
            by, own = (", ".join(f'"{name}"' for name in names) or "no column" for names in (there, self._partition))
            hint = "write to another folder, or let the sink say the partition that the table has."
            raise refused(self.path, f"its files are divided by {by}, and those of the sink by {own}.", hint)

    def _find(self, version: str) -> Version | None:
        return next((each for each in self.newest() if each.version == version), None)

    def _there(self, version: str) -> Version:
        if (found := self._find(version)) is None:
            raise no_version(self.path, version)
        return found


def _afterwards() -> Any:
    """What follows a commit at once: `tidy` cleans the log up, which takes as long as the commit itself."""
    return deltalake().PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False)


def _commit(table: Place, number: int) -> Version | None:
    """The version that a commit is; None where it changes no data."""
    actions = actions_of(table, number)
    infos: list[dict[str, Any]] = [action["commitInfo"] for action in actions if "commitInfo" in action]
    said = infos[0] if infos else dict[str, Any]()
    added = [each for action in actions if (each := action.get("add")) and each["dataChange"]]
    gone = any(each["dataChange"] for action in actions if (each := action.get("remove")))
    if not (added or gone or "ghcm.version" in said):
        return None
    counts = (json.loads(each.get("stats") or "{}").get("numRecords", 0) for each in added)
    named = ((unquote(each["path"]), each.get("partitionValues") or dict[str, str | None]()) for each in added)
    files = tuple(DataFile(name, count, values) for (name, values), count in zip(named, counts, strict=True))
    rows = int(said.get("ghcm.rows", sum(file.rows for file in files)))
    return Version(said.get("ghcm.version", str(number)), rows, said.get("timestamp", 0) * 1000, files, gone, number)
