"""What every source offers to its tasklet. A source reads and decodes; when and how much is the tasklet's decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from ghcm.functions import Failure
from ghcm.runtime.data.batch import Batch

Letters: TypeAlias = Callable[[Failure, str, str], None]
"""Takes a record that cannot be decoded: reason, detail, raw text."""

BadRecord = Failure.BAD_RECORD


class Source(Protocol):
    """Records of one or several partitions. Everything but the thread that it may have beside the loop belongs to the
    loop.

    `replayable`: `open` with an earlier position gives the records behind it again.
    """

    replayable: bool

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """Begin behind this position (JSON; None: at the start). `wake` may be called from any thread when there is
        something to poll.
        """
        ...

    def partitions(self) -> frozenset[str]:
        """The names of the partitions that have not ended, those not begun included."""
        ...

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        """What is there, of one partition, about `rows` records at most; None if nothing is. Never blocks. GhcmError
        if the place fails.
        """
        ...

    @property
    def ended(self) -> bool:
        """Whether everything has been polled."""
        ...

    @property
    def due(self) -> float | None:
        """When to poll again (monotonic clock) though nobody wakes; None if `wake` tells."""
        ...

    def position(self) -> object:
        """The position behind what has been polled."""
        ...

    def close(self) -> None:
        """Give back threads, files and connections."""
        ...
