"""What an operator has yet to give on: batches that are offered one after the other, and once more where one was
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ghcm.runtime.contract import Outbox
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
