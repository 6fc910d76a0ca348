"""What the thread that reads topics tells the loop, and messages on the way there."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ghcm.functions import Failure
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.messages import Block, Messages

Letter: TypeAlias = tuple[Failure, str, str]
Partition: TypeAlias = tuple[str, int]
"""The topic, and the number of its partition."""


@dataclass(frozen=True, slots=True)
class Found:
    """Partitions that are read from now on: from which offset, and where they end if they do; and those that are
    `gone`.
    """

    offsets: Mapping[Partition, int]
    ends: Mapping[Partition, int]
    gone: frozenset[Partition] = frozenset()


@dataclass(frozen=True, slots=True)
class Read:
    """What came of a partition, and the offset behind it."""

    partition: Partition
    offset: int
    batch: Batch | None = None
    letters: tuple[Letter, ...] = ()

    @classmethod
    def of(cls, partition: Partition, offset: int, messages: Messages, block: Block) -> "Read":
        """The records of a block."""
        failed: list[Letter] = []

        def note(reason: Failure, detail: str, text: str) -> None:
            failed.append((reason, detail, text))

        batch = messages.decode(block, note)
        return cls(partition, offset, batch, tuple(failed))
