"""The source of a Delta table: the rows of a version, file by file, and with `follow` what each later commit adds.

A thread beside the loop reads. Between two commits it asks for one name in the log, however long that is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, cast

from ghcm.errors import GhcmError
from ghcm.functions import Failure
from ghcm.places import Remote, place
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.chunks import Letters
from ghcm.runtime.formats.tables import Tables
from ghcm.runtime.sources.source import Mailbox
from ghcm.spg.connectors import Table
from ghcm.tables.reading import OpenTable, TableFile, is_table, unfollowable
from ghcm.types import Struct

_PREFETCHED = 3
_LOOK_S, _LOOK_AFAR_S = 0.25, 1.0


@dataclass(frozen=True, slots=True)
class _Place:
    """Where to go on in the table of an `id`: behind so many `rows` of a `file` of a version, which is read as a
    `whole`, or of which what its commit adds. `ended`: there is no more.
    """

    id: str
    version: int
    whole: bool
    file: int = 0
    rows: int = 0
    ended: bool = False


@dataclass(frozen=True, slots=True)
class _Piece:
    place: _Place
    batch: Batch | None
    letters: tuple[tuple[Failure, str, str], ...] = ()


class TableSource:
    """Records of one partition. The position: a version, and how much of it was read."""

    replayable = True
    due: float | None = None

    def __init__(self, connector: Table, schema: Struct, partition: str, base: Path) -> None:
        self._connector = connector
        self._schema = schema
        self._partition = partition
        self._path = place(base, connector.path)
        self._look_s = _LOOK_AFAR_S if isinstance(self._path, Remote) else _LOOK_S
        self._place: _Place | None = None
        self._closed = Event()
        self._mailbox = Mailbox[_Piece](_PREFETCHED)

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """Begin to read, or go on where the position says."""
        if isinstance(position, Mapping):
            self._place = _Place(**cast("dict[str, Any]", position))
        if not self.ended:
            self._mailbox.feed("ghcm-table", partial(self._read, self._place), wake)

    def partitions(self) -> frozenset[str]:
        return frozenset() if self.ended else frozenset({self._partition})

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        while (piece := self._mailbox.take()) is not None:
            for letter in piece.letters:
                letters(*letter)
            self._place = piece.place
            if piece.batch is not None:
                return piece.batch
        return None

    @property
    def ended(self) -> bool:
        return self._place is not None and self._place.ended

    def position(self) -> object:
        """None before it is known which version is read."""
        return None if self._place is None else asdict(self._place)

    def close(self) -> None:
        self._closed.set()
        self._mailbox.close()

    def _read(self, place: _Place | None) -> None:
        """The thread: leave in the mailbox what is read of the version, then of each commit."""
        table = self._opened(place)
        if table is None:
            return
        here = place or _Place(table.id, table.version, True)
        if here.whole:
            later = _Place(table.id, here.version + 1, False, ended=not self._connector.follow)
            if not self._give(table, here, table.files(), later) or later.ended:
                return
            here = later
        while not self._closed.is_set():
            commit = table.commit(here.version)
            if commit is None:
                self._closed.wait(self._look_s)
                continue
            if commit.rewrites and self._connector.rewrites == "fail":
                raise self._rewritten(here.version)
            later = replace(here, version=here.version + 1, file=0, rows=0)
            if not self._give(table, here, () if commit.rewrites else commit.files, later):
                return
            here = later

    def _opened(self, place: _Place | None) -> OpenTable | None:
        """The table, for which one that follows waits; None where the source was closed before."""
        connector = self._connector
        while connector.follow and place is None and not is_table(self._path):
            if self._closed.wait(self._look_s):
                return None
        version, time = connector.version, connector.time_us
        if place is not None:
            version, time = (place.version if place.whole else None), None
        table = OpenTable(self._path, connector.path, self._schema, version, time)
        if place is not None and place.id != table.id:
            raise unfollowable(connector.path, "it is another table than the one that was read so far")
        return table

    def _give(self, table: OpenTable, place: _Place, files: Sequence[TableFile], later: _Place) -> bool:
        """Leave the rows of files behind a place, and where to go on `later`, at least with an empty batch, so that the
        position is kept; False if the mailbox has been closed.
        """
        letters: list[tuple[Failure, str, str]] = []
        batch: Batch | None = None

        def keep(reason: Failure, origin: str, text: str) -> None:
            letters.append((reason, origin, text))

        for at in range(place.file, len(files)):
            tables = Tables(self._schema, files[at].name, self._partition)
            for begin, end, rows in table.rows(files[at], place.rows if at == place.file else 0):
                tables.number = begin
                batch = tables.add(rows, keep)
                if not self._mailbox.put(_Piece(replace(place, file=at, rows=end), batch, tuple(letters))):
                    return False
                letters.clear()
        rest = Batch.from_rows(self._schema, [], partition=self._partition) if batch is None else None
        return self._mailbox.put(_Piece(later, rest))

    def _rewritten(self, version: int) -> GhcmError:
        return unfollowable(
            self._connector.path,
            f"commit {version} removes or replaces rows",
            "What was read of them cannot be taken back.",
            "rewrites = ignore passes over such commits as a whole; --fresh begins with the table as it is now, "
            "and appends that to what is there.",
        )
