"""Joins by hash: of two bounded inputs, and lookups, in which each left record is answered for by itself, in the order
in which the records come.

By rows each side is kept by key, and a record meets what the other side has so far; those that met nobody follow when
both sides have ended. In columns both sides are kept as they came and joined when they have ended; if a record fails
then, or its keys are none that Polars joins by, the batches go by rows after all. Joins as of a time keep both sides,
too, and go by rows.

A lookup keeps the right side by key. Where it ends, left records wait for its end, at the input if they can and here if
not. Where it is a table that never ends, the latest value of each key counts that the table has given on, which it does
with every commit.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import polars as pl

from ghcm.runtime.contract import Context, Muted, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.key_groups import grouping, groups_of, key_of, key_type
from ghcm.runtime.data.keys import naming_of
from ghcm.runtime.native.code import JoinCode
from ghcm.runtime.operators.joined import JoiningOperator
from ghcm.runtime.operators.task_operator import batch_of
from ghcm.runtime.state.packing import key_groups, pack, unpack
from ghcm.runtime.state.runs import GroupsOf, RunState, runs_of
from ghcm.runtime.state.waiting import Waiting, one_group
from ghcm.runtime.state.whole_side import WholeSide
from ghcm.spg.graph import Exchange, Hash, Task, Unit
from ghcm.spg.instances import hashed
from ghcm.spg.joining import JoinKind
from ghcm.spg.ops import Join
from ghcm.types import Collection, Shape


@dataclass(slots=True)
class Held:
    """A kept row, and whether it has met one of the other side."""

    row: Row
    met: bool = False


class JoinOperator(JoiningOperator):
    """Keeps the rows of both sides by key."""

    def __init__(self, task: Task, op: Join, unit: Unit, code: JoinCode, context: Context) -> None:
        super().__init__(task, op, unit, code, context)
        self._stay = (op.kind.keeps_left or op.kind is JoinKind.ANTI, op.kind.keeps_right)
        self._kept_rows: list[dict[tuple[object, ...], list[Held]]] = [{}, {}]
        edges = zip(task.inputs, self._sides, strict=True)
        self._whole = [
            WholeSide(ordinal, side, groups_by(edge.exchange, side)) for ordinal, (edge, side) in enumerate(edges)
        ]

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        if self._op.asof or (self._frame_join is not None and self._context.form != "rows"):
            self._whole[ordinal].add(batch)
            return ()
        return self._met(ordinal, batch, outbox)

    def finish(self, outbox: Outbox) -> Iterator[Batch]:
        whole = [side.take() for side in self._whole]
        records = sum(len(batch) for side in whole for batch in side)
        if self._op.asof:
            self.counts["rows"] += records
            yield from self._as_of(whole, outbox)
            return
        made = None
        if self._frame_join is not None and (self._context.form == "columns" or records >= self._context.columnar_from):
            made = self._frame_join.of_sides(whole)
        if made is None:
            for ordinal, batches in enumerate(whole):
                for batch in batches:
                    yield from self._met(ordinal, batch, outbox)
            yield from self._gathered([row] for row in self._lonely())
            return
        self.counts["columns"] += records
        for frame in made:
            yield self._framed(frame)

    def _met(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        self.counts["rows"] += len(batch)
        keys = self._keys(ordinal, batch.rows(), outbox)
        yield from self._gathered(
            self._met_by(ordinal, row, key, outbox)
            for row, key in zip(batch.rows(), keys, strict=True)
            if key is not None
        )

    def _met_by(self, ordinal: int, row: Row, key: tuple[object, ...], outbox: Outbox) -> list[Row]:
        """What a record gives with those that the other side has so far; without a key it is alone."""
        if not key:
            return [self._lone(ordinal, row)] if self._stay[ordinal] else []
        held, rows = Held(row), list[Row]()
        self._hold(ordinal, key, held)
        for other in self._kept_rows[1 - ordinal].get(key, ()):
            rows += self._pair(*((held, other) if ordinal == 0 else (other, held)), outbox)
        return rows

    def _hold(self, ordinal: int, key: tuple[object, ...], held: Held) -> None:
        self._kept_rows[ordinal].setdefault(key, []).append(held)

    def _pair(self, left: Held, right: Held, outbox: Outbox) -> list[Row]:
        """What two records of one key give."""
        if not self._belong(left.row, right.row, outbox):
            return []
        first, left.met, right.met = not left.met, True, True
        match self._op.kind:
            case JoinKind.INNER | JoinKind.LEFT | JoinKind.RIGHT | JoinKind.FULL:
                return [self._joined(left.row, right.row)]
            case JoinKind.SEMI:
                return [self._joined(left.row, None)] if first else []
            case JoinKind.ANTI:
                return []

    def _as_of(self, whole: Sequence[Sequence[Batch]], outbox: Outbox) -> Iterator[Batch]:
        """Each left record with the latest right one, of several at that time the greatest."""
        rights: dict[tuple[object, ...], list[Row]] = {}
        for batch in whole[1]:
            for row, key in zip(batch.rows(), self._keys(1, batch.rows(), outbox), strict=True):
                if key:
                    rights.setdefault(key, []).append(row)
        for batch in whole[0]:
            rows: list[Row] = []
            for row, key in zip(batch.rows(), self._keys(0, batch.rows(), outbox), strict=True):
                if key is not None:
                    found = [each for each in rights.get(key, ()) if self._belong(row, each, outbox)]
                    rows += self._answers(row, self._latest_of(found))
            yield self._batch(rows)

    def _lonely(self) -> Iterator[Row]:
        """The kept records that met nobody."""
        for ordinal, stay in enumerate(self._stay):
            for held in (each for several in self._kept_rows[ordinal].values() for each in several if stay):
                if not held.met:
                    yield self._lone(ordinal, held.row)

    def _lone(self, ordinal: int, row: Row) -> Row:
        return self._joined(row, None) if ordinal == 0 else self._joined(None, row)

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: the rows of both sides by the key groups that they are dealt out by, and whether each
        has met another one; those that have not been looked at as runs.
        """
        groups = [group_of(edge.exchange, side) for edge, side in zip(self._task.inputs, self._sides, strict=True)]
        rows = key_groups(self._entries(), lambda entry: groups[entry[0]](entry[1]), change=False)
        return RunState(rows, [run for side in self._whole for run in side.save()])

    def _entries(self) -> Iterator[tuple[int, Row, bool]]:
        for ordinal, kept in enumerate(self._kept_rows):
            yield from ((ordinal, held.row, held.met) for rows in kept.values() for held in rows)

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        entries: list[tuple[int, Row, bool]] = [entry for data in state.values() for entry in unpack(data)]
        for ordinal, whole in enumerate(self._whole):
            whole.restore(runs_of(state))
            held = [Held(row, met) for number, row, met in entries if number == ordinal]
            for each, key in zip(held, self._keys(ordinal, [each.row for each in held], None), strict=True):
                if key:
                    self._kept_rows[ordinal].setdefault(key, []).append(each)


def group_of(exchange: Exchange, side: Collection) -> Callable[[Row], int]:
    """The key group by which a row of a side is dealt out; where all of them meet in one instance, the first."""
    if not isinstance(exchange, Hash):
        return lambda row: 0
    names = hashed(exchange, side.columns)
    group, places = grouping(key_type(side.columns, names)), [side.columns.index(name) for name in names]
    return lambda row: group(row[places[0]] if len(places) == 1 else tuple([row[place] for place in places]))


def groups_by(exchange: Exchange, side: Collection) -> GroupsOf:
    """As `group_of`, of a frame."""
    if not isinstance(exchange, Hash):
        return one_group
    names = hashed(exchange, side.columns)
    type_ = key_type(side.columns, names)
    return lambda frame: groups_of(key_of(frame, names), type_)


LEFT, RIGHT = 0, 1


class LookupJoinOperator(JoiningOperator):
    """Keeps the right rows by key, of a table one for each, until they are taken back; and the left ones that came
    before the right side was complete.
    """

    def __init__(self, task: Task, op: Join, unit: Unit, code: JoinCode, context: Context) -> None:
        super().__init__(task, op, unit, code, context)
        right = self._sides[RIGHT]
        self._table = right.shape is Shape.TABLE
        told_by = right.columns.fields[0].type if self._table else right.columns
        self._identity = naming_of(told_by)
        self._alike: dict[object, int] = {}
        self._complete = not right.bounded
        self._numbers = count()
        self._rows: dict[object, tuple[tuple[object, ...], Row]] = {}
        self._by_key: dict[tuple[object, ...], dict[object, Row]] = {}
        self._frame: pl.DataFrame | None = None
        self._packed: bytes | None = None
        self._waiting = Waiting(self._sides[LEFT])

    def holds(self, ordinal: int) -> bool:
        return ordinal == LEFT and not self._complete

    @property
    def holding(self) -> bool:
        return bool(self._waiting)

    def ended(self, ordinal: int, outbox: Outbox) -> Iterator[Batch]:
        self._complete |= ordinal == RIGHT
        if self._complete:
            for batch in self._waiting.take():
                yield from self._made(batch, Muted(outbox) if batch.taken_back else outbox)

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        if ordinal == LEFT and self._complete:
            return self._made(batch, outbox)
        if ordinal == LEFT:
            self._waiting.add(batch)
        elif batch.taken_back:
            self._take_back(batch.rows())
        else:
            self._take(batch.rows(), outbox)
        return ()

    def _take(self, rows: Sequence[Row], outbox: Outbox | None) -> None:
        """Keep right rows; of a table the latest of each of its keys."""
        self._frame = self._packed = None
        for row, key in zip(rows, self._keys(RIGHT, rows, outbox), strict=True):
            name = self._new_name(row)
            self._drop(name)
            if key:
                self._rows[name] = (key, row)
                self._by_key.setdefault(key, {})[name] = row

    def _take_back(self, rows: Sequence[Row]) -> None:
        """Forget right rows that count no longer."""
        self._frame = self._packed = None
        for row in rows:
            name = self._identity(row[0] if self._table else row)
            if not self._table:
                alike = self._alike.pop(name, 0) - 1
                if alike > 0:
                    self._alike[name] = alike
                name = (name, alike)
            self._drop(name)

    def _new_name(self, row: Row) -> object:
        """What tells a right row from others: its key in a table, else itself and how many are like it, where it may be
        taken back.
        """
        if self._table:
            return self._identity(row[0])
        if not self._sides[RIGHT].changing:
            return next(self._numbers)
        name = self._identity(row)
        alike = self._alike.get(name, 0)
        self._alike[name] = alike + 1
        return name, alike

    def _drop(self, name: object) -> None:
        before = self._rows.pop(name, None)
        if before is not None:
            of_key = self._by_key[before[0]]
            del of_key[name]
            if not of_key:
                del self._by_key[before[0]]

    def _made(self, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        if self._frame_join is not None and self._columnar(batch):
            if self._frame is None:
                held = batch_of(self._sides[RIGHT], [row for _, row in self._rows.values()])
                self._frame = self._frame_join.right_side(held)
            frame = None if self._frame is None else self._frame_join.looked_up(batch, self._frame)
            if frame is not None:
                self.counts["columns"] += len(batch)
                yield from self._cut(self._framed(frame, batch.partition))
                return
        self.counts["rows"] += len(batch)
        keys = self._keys(LEFT, batch.rows(), outbox)
        answers = (
            self._answers(row, self._found(row, key, outbox))
            for row, key in zip(batch.rows(), keys, strict=True)
            if key is not None
        )
        yield from self._gathered(answers, batch.partition)

    def _found(self, left: Row, key: tuple[object, ...], outbox: Outbox) -> list[Row]:
        rights = self._by_key.get(key, {}).values() if key else ()
        found = [row for row in rights if self._belong(left, row, outbox)]
        return self._latest_of(found) if self._op.asof else found

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`. The right side is packed again only where it has changed."""
        if self._packed is None:
            self._packed = pack([row for _, row in self._rows.values()])
        waiting, runs = self._waiting.save()
        return RunState({0: pack((self._packed, self._complete, waiting))}, runs)

    def restore(self, state: Mapping[int, bytes]) -> None:
        """As `Operator.restore`."""
        runs = {run.name: run for run in runs_of(state)}
        for data in state.values():
            packed, self._complete, waiting = unpack(data)
            self._take(unpack(packed), None)
            self._waiting.restore(waiting, runs)
