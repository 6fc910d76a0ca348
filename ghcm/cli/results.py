"""What `ghcm run` shows of a program that runs: the sinks as they fill, its dead letters and its calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ghcm.errors import GhcmError
from ghcm.spg.connectors import Mode
from ghcm.spg.graph import (
    Program,
    Sink,
)
from ghcm.spg.ops import Files, Format, Generate, Kafka, Memory, Parquet, Redis, Socket, To
from ghcm.types import Struct
from ghcm.values import own_writer

if TYPE_CHECKING:
    from ghcm.runtime.pubsub.connections import Connections
    from ghcm.runtime.sinks.table_directory import TableDirectory


_SAMPLE = 5


@dataclass(frozen=True, slots=True)
class News:
    """A new version of a sink: some of its rows as JSON, and how many it has, where that is known."""

    sink: str
    version: str
    rows: int | None
    sample: Sequence[object]


@dataclass(slots=True)
class Sinks:
    """The sinks that a program writes, looked at from outside."""

    program: Program
    connections: Connections
    _sequences: dict[str, int] = field(default_factory=dict[str, int])
    _versions: dict[str, str] = field(default_factory=dict[str, str])

    def look(self) -> Iterator[News]:
        """The versions of sinks that came since the last look; of a place in Redis only the latest."""
        written = self._written()
        for sink in self.program.sinks:
            if sink.name in written:
                try:
                    yield from self._look(sink)
                except (GhcmError, OSError):
                    # It is away for a moment; the daemon sees to it and the next look tells more.
                    continue

    def prepare(self) -> None:
        """Load what reading rows takes, while there are none to be read."""
        import_module("ghcm.runtime.sinks.sink")
        import_module("ghcm.runtime.sinks.table_directory")

    def skip_tables(self) -> dict[str, int]:
        """Take as seen what earlier runs have left in folders; the rows in those that the program appends to."""
        kept: dict[str, int] = {}
        for sink in self.program.sinks:
            if isinstance(sink.connector, Files | Parquet):
                try:
                    manifests = self._table(sink.connector).manifests()
                except OSError:  # the unit that writes there says more
                    continue
                self._sequences[sink.name] = max((each.sequence for each in manifests), default=0)
                rows = sum(each.rows for each in manifests)
                if rows and sink.mode is Mode.APPEND and sink.name in self._written():
                    kept[sink.name] = rows
        return kept

    def _written(self) -> set[str]:
        return {task.op.sink for unit in self.program.units for task in unit.tasks if isinstance(task.op, To)}

    def _look(self, sink: Sink) -> Iterator[News]:
        match sink.connector:
            case Files() | Parquet():
                seen = self._sequences.get(sink.name, 0)
                for manifest in self._table(sink.connector).manifests():
                    if manifest.sequence > seen:
                        self._sequences[sink.name] = manifest.sequence
                        yield self._of_table(sink, manifest.version)
            case Redis():
                from ghcm.runtime.sinks.sink import columns_of, latest_version, read

                version = latest_version(sink, self.connections)
                if version is not None and version != self._versions.get(sink.name):
                    self._versions[sink.name] = version
                    rows = islice(read(sink, self.connections), _SAMPLE)
                    yield News(sink.name, version, None, _json(rows, columns_of(sink)))
            case Kafka() | Socket() | Memory() | Generate():
                return

    def _of_table(self, sink: Sink, version: str) -> News:
        from ghcm.runtime.sinks.sink import columns_of, rows_of_call

        page = rows_of_call(sink, self.connections, call=version, version=version, limit=_SAMPLE)
        return News(sink.name, version, page.total, _json(page.rows, columns_of(sink)))

    def _table(self, connector: Files | Parquet) -> TableDirectory:
        from ghcm.runtime.sinks.table_directory import TableDirectory

        return TableDirectory(self.connections.path(connector.path))


def _json(rows: Iterable[tuple[object, ...]], columns: Struct) -> list[object]:
    write = own_writer(columns)  # as sinks of JSON have them: of a union the fields of the record that it is
    return [write(tuple(row)) for row in rows]


def place(sink: Sink) -> str:
    """Where the rows of a sink are, for people."""
    match sink.connector:
        case Files(path=path) | Parquet(path=path):
            return path
        case Redis(place=place):
            return f"redis {place}" + (":<version>" if sink.mode is Mode.REPLACE else "")
        case _:
            return ""


def first_reason(folder: Path) -> str:
    """Why the first dead letter of this table failed; empty where that cannot be read."""
    from ghcm.runtime.data.dead_letter import DEAD_LETTER
    from ghcm.runtime.sinks.table_sink import read_table

    try:
        letters = read_table(folder, Files(str(folder), Format("json")), DEAD_LETTER, None)
        first = next(iter(letters), None)
    except GhcmError:
        return ""
    return "" if first is None else str(first[DEAD_LETTER.names.index("detail")])


def dead_letters(folder: Path) -> dict[str, int]:
    """Dead letters by unit."""
    from ghcm.runtime.sinks.table_directory import TableDirectory

    units = sorted(path for path in folder.glob("*/*") if path.is_dir())
    counted = {path.name: sum(each.rows for each in TableDirectory(path).visible()) for path in units}
    return {unit: rows for unit, rows in counted.items() if rows}
