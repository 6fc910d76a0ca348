"""Joins of inputs that both change: what two records have given is taken back when one of them is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from ghcm.runtime.contract import Context, Outbox
from ghcm.runtime.data.batch import TAKEN_BACK, Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.data.keys import naming_of
from ghcm.runtime.native.code import JoinCode
from ghcm.runtime.operators.join import group_of
from ghcm.runtime.operators.joined import JoiningOperator
from ghcm.runtime.state.kept_rows import KeptRows
from ghcm.spg.graph import Task, Unit
from ghcm.spg.joining import JoinKind
from ghcm.spg.ops import Join

_Key = tuple[object, ...]


class _Nobody:
    """An outbox for what has been said before."""

    def dead(self, letter: DeadLetter) -> None:
        """As `Outbox.dead`."""

    def publish(self, publication: object) -> None:
        """As `Outbox.publish`."""


@dataclass(slots=True)
class _Held:
    """A row, how many are like it, and how many of the other side belong to it."""

    row: Row
    count: int = 0
    met: int = 0


@dataclass(slots=True)
class _Change:
    """What a batch takes back and gives."""

    gone: list[Row]
    come: list[Row]

    def add(self, row: Row, times: int) -> None:
        """Give a row so many times, or take it back."""
        (self.come if times > 0 else self.gone).extend([row] * abs(times))


class RevisedJoinOperator(JoiningOperator):
    """Keeps the rows of both sides by key, and of each how many it has met."""

    def __init__(self, task: Task, op: Join, unit: Unit, code: JoinCode, context: Context) -> None:
        super().__init__(task, op, unit, code, context)
        self._by_key: tuple[dict[_Key, dict[object, _Held]], dict[_Key, dict[object, _Held]]] = ({}, {})
        self._identities = [naming_of(side.columns) for side in self._sides]
        groups = [group_of(edge.exchange, side) for edge, side in zip(task.inputs, self._sides, strict=True)]
        self._kept_rows = KeptRows(self._name, lambda entry: groups[_ordinal(entry)](_row(entry)))
        """Rows of the side, its row and how many are like it."""

    def _name(self, entry: Row) -> object:
        return entry[0], self._identities[_ordinal(entry)](_row(entry))

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        self.counts["rows"] += len(batch)
        change, by = _Change([], []), -1 if batch.taken_back else 1
        rows = [row[: self._widths[ordinal]] for row in batch.rows()]
        for row, key in zip(rows, self._keys(ordinal, rows, outbox), strict=True):
            if key is None:
                continue
            held = self._counted(ordinal, row, key, by)
            self._meet(ordinal, held, key, by, change, outbox)
        yield from self._cut(self._batch(change.gone, TAKEN_BACK))
        yield from self._cut(self._batch(change.come))

    def _counted(self, ordinal: int, row: Row, key: _Key, by: int) -> _Held:
        """The row as it is kept, with one more or one less of it."""
        name = self._identities[ordinal](row)
        side = self._by_key[ordinal]
        of_key = side.setdefault(key, {})
        held = of_key.setdefault(name, _Held(row))
        held.count += by
        entry = (ordinal, row, held.count)
        if held.count:
            self._kept_rows.put((ordinal, name), entry)
            return held
        self._kept_rows.drop((ordinal, name))
        del of_key[name]
        if not of_key:
            del side[key]
        return held

    def _meet(self, ordinal: int, held: _Held, key: _Key, by: int, change: _Change, outbox: Outbox) -> None:
        """What one more, or one less, of a row gives with those of the other side. Those without a key meet none."""
        fresh = held.count == by  # the first of its kind has met nobody yet
        met = 0
        for other in list(self._by_key[1 - ordinal].get(key, {}).values()) if key else ():
            pair = (held, other) if ordinal == 0 else (other, held)
            if not self._belong(pair[0].row, pair[1].row, outbox):
                continue
            met += other.count
            before, other.met = other.met, other.met + by
            if not self._alone:
                change.add(self._joined(pair[0].row, pair[1].row), by * other.count)
            self._turned(1 - ordinal, other, before, change)
        if fresh:
            held.met = met
        alone = self._as_one(ordinal, met)
        if alone:
            change.add(self._one(ordinal, held.row), by)

    def _turned(self, ordinal: int, held: _Held, before: int, change: _Change) -> None:
        """What becomes of a row that has met its first, or lost its last one."""
        was, now = self._as_one(ordinal, before), self._as_one(ordinal, held.met)
        if was != now:
            change.add(self._one(ordinal, held.row), held.count if now else -held.count)

    def _as_one(self, ordinal: int, met: int) -> bool:
        """Whether a row that has met so many is given by itself."""
        kind = self._op.kind
        match kind:
            case JoinKind.SEMI:
                return ordinal == 0 and met > 0
            case JoinKind.ANTI:
                return ordinal == 0 and met == 0
            case JoinKind.INNER | JoinKind.LEFT | JoinKind.RIGHT | JoinKind.FULL:
                return met == 0 and (kind.keeps_left if ordinal == 0 else kind.keeps_right)

    def _one(self, ordinal: int, row: Row) -> Row:
        return self._joined(row, None) if ordinal == 0 else self._joined(None, row)

    def save(self) -> Mapping[int, bytes]:
        return self._kept_rows.save()

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`; who has met whom is found again."""
        self._kept_rows.restore(state)
        self._by_key = ({}, {})
        for ordinal in (0, 1):
            entries = [entry for entry in self._kept_rows if entry[0] == ordinal]
            rows = [_row(entry) for entry in entries]
            for entry, row, key in zip(entries, rows, self._keys(ordinal, rows, None), strict=True):
                if key is None:
                    continue
                count = entry[2]
                assert isinstance(count, int), "so many are alike"
                held = _Held(row, count)
                for other in self._by_key[0].get(key, {}).values() if ordinal == 1 and key else ():
                    if self._belong(other.row, row, _Nobody()):
                        held.met += other.count
                        other.met += count
                self._by_key[ordinal].setdefault(key, {})[self._identities[ordinal](row)] = held


def _ordinal(entry: Row) -> int:
    ordinal = entry[0]
    assert isinstance(ordinal, int), "an entry begins with its side"
    return ordinal


def _row(entry: Row) -> Row:
    return cast("Row", entry[1])
