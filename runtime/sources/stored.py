"""The source that reads what other units have written: a version of a sink."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import cast

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.chunks import Letters
from ghcm.runtime.sources.source import Mailbox
from ghcm.types import Struct

_ROWS = 4096
_PREFETCHED = 2


@dataclass(frozen=True, slots=True)
class _Part:
    version: str | None
    rows: list[Row]
    last: bool


class StoredSource:
    """The records of a sink. `latest` gives its latest version, None where nothing was committed; `read` the rows of a
    version, or what others have left there; both block and run in a thread.

    The position is the version and how many rows were given. `version`: the one to read, None for the latest.
    """

    replayable = True
    due: float | None = None

    def __init__(
        self,
        latest: Callable[[], str | None],
        read: Callable[[str | None], Iterator[Row]],
        schema: Struct,
        partition: str,
        version: str | None,
    ) -> None:
        self._latest = latest
        self._read = read
        self._schema = schema
        self._partition = partition
        self._version = version
        self._given = 0
        self._ended = False
        self._mailbox = Mailbox[_Part](_PREFETCHED)

    def open(self, position: object, wake: Callable[[], None]) -> None:
        if isinstance(position, Mapping):
            known = cast("Mapping[str, object]", position)
            self._version, self._given = cast("str | None", known["version"]), cast("int", known["rows"])
            self._ended = bool(known["ended"])
        if not self._ended:
            self._mailbox.feed("ghcm-read", self._fetch, wake)

    def partitions(self) -> frozenset[str]:
        return frozenset() if self._ended else frozenset({self._partition})

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        part = self._mailbox.take()
        if part is None:
            return None
        self._version, self._ended = part.version, part.last
        self._given += len(part.rows)
        return Batch.from_rows(self._schema, part.rows, partition=self._partition)

    @property
    def ended(self) -> bool:
        return self._ended

    def position(self) -> object:
        return {"version": self._version, "rows": self._given, "ended": self._ended}

    def close(self) -> None:
        self._mailbox.close()

    def _fetch(self) -> None:
        version = self._version if self._version is not None else self._latest()
        rows = islice(self._read(version), self._given, None)
        while part := list(islice(rows, _ROWS)):
            if not self._mailbox.put(_Part(version, part, False)):
                return
        self._mailbox.put(_Part(version, [], True))
