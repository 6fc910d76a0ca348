"""How operators take and give batches: by rows or by columns, in columns but for the pieces that hold a failing record,
and offered once more where a batch was refused.

The columnar form says that some record fails, not which. So a batch is halved until the pieces that fail are small.
Where failing records are so many that this does not pay, what is left is done by rows as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import polars as pl

from ghcm.runtime.contract import Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.types import Struct


class Pending:
    """The batches of one call of an operator. `make` is called once per call, however often the call is repeated."""

    __slots__ = ("_batches", "_next")

    def __init__(self) -> None:
        self._batches: Iterator[Batch] | None = None
        self._next: Batch | None = None

    def give(self, outbox: Outbox, make: Callable[[], Iterable[Batch]]) -> bool:
        """Offer what is left of this call; `False` where the outbox refused."""
        if self._batches is None:
            self._batches = iter(make())
            self._next = next(self._batches, None)
        while self._next is not None:
            if not outbox.offer(self._next):
                return False
            self._next = next(self._batches, None)
        self._batches = None
        return True


def chunks(schema: Struct, rows: Sequence[Row], size: int, *, timed: bool, partition: str = "") -> Iterator[Batch]:
    """Rows as batches of at most `size`."""
    for start in range(0, len(rows), size):
        part = rows if len(rows) <= size else rows[start : start + size]
        yield Batch.from_rows(schema, part, timed=timed, partition=partition)


_SPARE_TRIES = 4


def columnar(batch: Batch, context: Context) -> bool:
    """Whether a batch is to be done in columnar form, where there is one."""
    match context.form:
        case "rows":
            return False
        case "columns":
            return True
        case "auto":
            return len(batch) >= context.columnar_from


def in_pieces(
    batch: Batch, least: int, columns: Callable[[Batch], Batch | None], rows: Callable[[Batch], Batch]
) -> Batch:
    """What becomes of a batch. `columns` gives None where a record fails; both are called on pieces in the order of
    their records, `columns` first with the whole. Pieces of fewer than `least` records are not made.
    """
    made: list[Batch] = []
    left = [batch]
    tries = 2 * (len(batch) // max(least, 1)).bit_length() + _SPARE_TRIES
    while left:
        piece = left.pop()
        done = columns(piece) if tries else None
        if done is None and tries and len(piece) >= 2 * least:
            middle = len(piece) // 2
            left += [piece.slice(middle, len(piece)), piece.slice(0, middle)]
        else:
            made.append(rows(piece) if done is None else done)
        tries = max(0, tries - 1)
    if len(made) == 1:
        return made[0]
    some = [each for each in made if len(each)] or made[:1]
    return some[0] if len(some) == 1 else some[0].with_frame(some[0].schema, pl.concat([e.frame() for e in some]))
