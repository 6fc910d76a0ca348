"""The records of open sessions that came in columns: pieces, which are batches put in the order of keys and times, so
that what falls into one session stands together in them.

A snapshot writes a piece once for as long as all of its sessions are open. Of one from which sessions have gone it
writes what is left, and one that is mostly gone is made anew, so that a session that stays does not keep others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import polars as pl

from ghcm.runtime.state.runs import GroupsOf, Run

AT, NUMBER = "@at", "@number"
"""Where a record stood in its batch, and in a run the number of its piece."""
_SPARE = 4
"""A piece has at most so many times the records that are left of it."""


@dataclass(slots=True, eq=False)
class Piece:
    """A frame with `@at`, its parts that are in open sessions, how many records these are, and the run of the last
    snapshot, if that has all of it. Pieces have numbers in the order in which they came.
    """

    number: int
    frame: pl.DataFrame
    live: int
    parts: dict[Part, None] = field(default_factory=dict["Part", None])
    run: Run | None = None

    def part(self, start: int, stop: int) -> Part:
        """A new part of it."""
        made = Part(self, start, stop)
        self.parts[made] = None
        return made

    def left(self) -> bool:
        """Whether anything is left of it, in no more room than it needs."""
        if self.live * _SPARE < self.frame.height:
            self.cut()
        return self.live > 0

    def cut(self) -> None:
        """Keep what is left alone."""
        if self.live in (0, self.frame.height):
            return
        parts = list(self.parts)
        self.frame, self.run = self.frame[_places((part.start, part.stop) for part in parts)], None
        begin = 0
        for part in parts:
            part.start, part.stop = begin, begin + part.stop - part.start
            begin = part.stop

    def saved(self, groups: GroupsOf) -> Run:
        """A run of what is left of it, with its number."""
        self.cut()
        if self.run is None:
            self.run = Run(self.frame.with_columns(pl.lit(self.number, pl.Int64).alias(NUMBER)), groups)
        return self.run


@dataclass(slots=True, eq=False)
class Part:
    """The records of a piece from `start` up to `stop`, which are in one session."""

    piece: Piece
    start: int
    stop: int

    def drop(self) -> None:
        """Take it from its piece."""
        del self.piece.parts[self]
        self.piece.live -= self.stop - self.start


def placed(piece: Piece, spans: Sequence[tuple[int, int, int, int]], window: pl.DataType) -> pl.DataFrame:
    """The records of a piece between those places, as they came, each in the window that stands behind its places."""
    starts, stops, *times = ([span[at] for span in spans] for at in range(4))
    windows = pl.DataFrame({"start": times[0], "end": times[1]}).to_struct("window").cast(window)
    rows = pl.DataFrame({"row": _ranges(starts, stops), "window": windows}).explode("row")
    return piece.frame[rows["row"]].with_columns(rows["window"]).sort(AT).drop(AT)


def _places(spans: Iterable[tuple[int, int]]) -> pl.Series:
    """All places between those."""
    starts, stops = zip(*spans, strict=True)
    return _ranges(starts, stops).explode()


def _ranges(starts: Sequence[int], stops: Sequence[int]) -> pl.Series:
    whole = {"start": pl.Series(starts, dtype=pl.Int64), "stop": pl.Series(stops, dtype=pl.Int64)}
    return pl.DataFrame(whole).select(pl.int_ranges("start", "stop", dtype=pl.Int64)).to_series()
