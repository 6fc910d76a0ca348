"""The source of files that grow: what a path means is looked up again and again, and of each file every whole line is
read once, whatever becomes of its name.

Looking is done by a thread beside the loop, soon again while something comes and seldom while nothing does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from threading import Event
from typing import cast

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.sources.growing_file import Piece
from ghcm.runtime.sources.mailbox import Mailbox
from ghcm.runtime.sources.marks import Place
from ghcm.runtime.sources.source import Letters
from ghcm.runtime.sources.tailing import Tailing
from ghcm.spg.ops import Files
from ghcm.types import Struct

_PREFETCHED = 3
_SOON_S, _SELDOM_S = 0.02, 0.25


class TailSource:
    """Records of one partition without end. The position: of each file where it is on the disk, how far whole lines of
    it were used, and hashes of what lies there, by which it is known again.
    """

    replayable = True
    due: float | None = None

    def __init__(self, connector: Files, schema: Struct, partition: str, base: Path) -> None:
        self._connector = connector
        self._schema = schema
        self._partition = partition
        self._base = base
        self._places: dict[int, Place] = {}
        self._closed = Event()
        self._mailbox: Mailbox[Piece] | None = None

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """Begin to look for files, or go on where the position says."""
        if isinstance(position, Mapping):
            saved = cast("list[Mapping[str, object]]", position["files"])
            self._places = dict(enumerate(map(Place.restore, saved), 1))
        self._mailbox = Mailbox(_PREFETCHED, wake)
        tailing = Tailing(self._connector, self._schema, self._partition, self._base, dict(self._places))
        self._mailbox.feed("ghcm-tail", partial(self._watch, self._mailbox, tailing))

    def partitions(self) -> frozenset[str]:
        """The one partition."""
        return frozenset({self._partition})

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        """The records of the next piece."""
        while self._mailbox is not None and (piece := self._mailbox.take()) is not None:
            for letter in piece.letters:
                letters(*letter)
            if piece.place is None:
                self._places.pop(piece.file, None)
            else:
                self._places[piece.file] = piece.place
            if piece.batch is not None:
                return piece.batch
        return None

    @property
    def ended(self) -> bool:
        """Never."""
        return False

    def position(self) -> object:
        """Where to go on in each file."""
        return {"files": [place.save() for place in self._places.values()]}

    def close(self) -> None:
        """Let the reading thread go."""
        self._closed.set()
        if self._mailbox is not None:
            self._mailbox.close()

    def _watch(self, mailbox: Mailbox[Piece], tailing: Tailing) -> None:
        """The thread: leave what comes in the mailbox."""
        pause = _SOON_S
        try:
            while not self._closed.is_set():
                pause = min(2 * pause, _SELDOM_S)
                for piece in tailing.look():
                    pause = _SOON_S
                    if not mailbox.put(piece):
                        return
                self._closed.wait(pause)
        finally:
            tailing.close()
