"""What has come of partitions, cut into records part by part: each has as many as are decoded at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ghcm.runtime.sources.kafka.cutting import Cutter, Memory, Records
from ghcm.runtime.sources.kafka.record_batches import RecordBatch

if TYPE_CHECKING:
    from ghcm.runtime.sources.kafka.fetching import Fetched
    from ghcm.runtime.sources.kafka.progress import Partition

_AT_ONCE = 65_536
"""Messages of a part, unless one batch has more: many, for after each part the thread that decodes waits for others,
which then use the interpreter.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """Records of a partition, if there are any, and the offset behind them and what else came."""

    partition: Partition
    behind: int
    records: Records | None


@dataclass(frozen=True, slots=True)
class Uncut:
    """What a part is cut of: batches of which records from `begin` up to the `end` of the partition count."""

    partition: Partition
    begin: int
    behind: int
    end: int | None
    batches: Sequence[RecordBatch]

    def cut(self, cutter: Cutter, memory: Memory | None = None) -> Part:
        """The part, in this memory if not in the cutter's. Raises `Unread`."""
        behind = self.behind if self.end is None else min(self.behind, self.end)
        records = cutter.cut(self.batches, memory).between(self.begin, self.end) if self.batches else None
        return Part(self.partition, behind, records if records is not None and len(records.offsets) else None)


def divided(fetched: Fetched, end: int | None) -> Iterator[Uncut]:
    """The parts of what was fetched; the last one is the way to the offset behind it."""
    group, count = list[RecordBatch](), 0
    for batch in fetched.batches:
        if count and count + batch.count > _AT_ONCE:
            yield Uncut(fetched.partition, fetched.begin, group[-1].behind, end, group)
            group, count = [], 0
        group.append(batch)
        count += batch.count
    yield Uncut(fetched.partition, fetched.begin, fetched.behind, end, group)
