"""Aggregations, and what is different, of records that may be taken back: the table that they give loses what no record
is left of.
"""

from collections.abc import Iterable, Iterator, Mapping

from ghcm.runtime.contract import Context, Outbox
from ghcm.runtime.data.batch import TAKEN_BACK, Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.data.key_groups import grouping, key_type
from ghcm.runtime.data.keys import naming_of
from ghcm.runtime.native.code import GroupCode
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operators.fallible_reducers import fallible, has_lambda
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.runtime.state.kept_rows import KeptRows
from ghcm.runtime.state.merge_tree import MergeTree
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import ReduceByKey
from ghcm.types import Field, Struct


class RevisedGroupsOperator(TaskOperator):
    """Keeps the values of each key, and gives at a commit what has become of the keys whose values have changed."""

    def __init__(self, task: Task, unit: Unit, code: GroupCode, context: Context) -> None:
        super().__init__(task, unit, context)
        self._code = fallible(code) if isinstance(task.op, ReduceByKey) and has_lambda(task.op.reducer) else code
        key, value = self._takes.pair
        self._key_type = key
        self._identity = naming_of(key)
        self._value_identity = naming_of(value)
        self._result_identity = naming_of(task.schema.field_of("value").type)
        self._told = any(edge.producer == task.id for each in unit.tasks for edge in each.inputs)
        group = grouping(key, context.groups)
        self._values = KeptRows(self._name, lambda row: group(row[0]))
        """Rows of key, value and how many of them there are."""
        self._trees: dict[object, MergeTree] = {}
        self._keys: dict[object, object] = {}
        self._given: dict[object, Row] = {}
        """What was given on of each key."""
        self._changed: dict[object, None] = {}

    def _name(self, row: Row) -> object:
        return self._identity(row[0]), self._value_identity(row[1])

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        self.counts["rows"] += len(batch)
        dead, by = self._dead_to(outbox), -1 if batch.taken_back else 1
        for row in batch.rows():
            try:
                self._code.first(row[1], self._parameters)
            except RecordFailure as failure:
                dead(self._task.id, self._record(row), failure.reason, failure.detail)
                continue
            self._change(row[0], row[1], by)
        return ()

    def _change(self, key: object, value: object, by: int) -> None:
        identity, name = self._identity(key), self._name((key, value))
        tree = self._trees.get(identity)
        if tree is None:
            tree = self._trees[identity] = MergeTree(self._code, self._parameters)
            self._keys[identity] = key
        count = tree.change(name, value, by)
        if count:
            self._values.put(name, (key, value, count))
        else:
            self._values.drop(name)
        self._changed[identity] = None
        if not len(tree):
            del self._trees[identity], self._keys[identity]

    def flush(self, outbox: Outbox) -> Iterator[Batch]:
        """As `Operator.flush`: what is taken back, and what comes instead."""
        changed, self._changed = self._changed, {}
        gone: list[Row] = []
        come: list[Row] = []
        for identity in changed if self._told else ():
            before, now = self._given.pop(identity, None), self._result(identity, outbox)
            if now is not None:
                self._given[identity] = now
            if before is not None and now is not None and self._same(before, now):
                continue
            gone += [before] if before is not None else []
            come += [now] if now is not None else []
        yield from self._cut(self._batch(gone, TAKEN_BACK))
        yield from self._cut(self._batch(come))

    def _same(self, one: Row, other: Row) -> bool:
        return (self._result_identity(one[1]),) == (self._result_identity(other[1]),)

    def _result(self, identity: object, outbox: Outbox | None) -> Row | None:
        """The pair of a group; None where it has no values left, or fails, which is a dead letter."""
        tree = self._trees.get(identity)
        state = None if tree is None else tree.state()
        if state is None:
            return None
        key = self._keys[identity]
        try:
            return key, self._code.result(state, self._parameters)
        except RecordFailure as failure:
            if outbox is not None:
                key_only = Struct((Field("key", self._key_type),))
                self._dead(outbox, (key,), key_only, failure.reason, failure.detail)
            return None

    def copy(self, key: object = None) -> list[tuple[object, object]]:
        """As `Table.copy`."""
        names = list(self._trees) if key is None else [self._identity(key)]
        found = [pair for name in names if (pair := self._result(name, None)) is not None]
        return [(pair[0], pair[1]) for pair in found]

    def save(self) -> Mapping[int, bytes]:
        """As `Operator.save`: the values; what was given on is what they give, since a commit has just been."""
        return self._values.save()

    def restore(self, state: Mapping[int, bytes]) -> None:
        self._values.restore(state)
        self._trees, self._keys = {}, {}
        for row in self._values:
            key, value, count = row
            assert isinstance(count, int), "so many are alike"
            identity = self._identity(key)
            if identity not in self._trees:
                self._trees[identity], self._keys[identity] = MergeTree(self._code, self._parameters), key
            self._trees[identity].change(self._name(row), value, count)
        given = ((name, self._result(name, None)) for name in (self._trees if self._told else ()))
        self._given = {name: pair for name, pair in given if pair is not None}


class RevisedDistinctOperator(TaskOperator):
    """Counts the records that are alike, and takes one back when none of them is left."""

    def __init__(self, task: Task, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._identity = naming_of(task.schema)
        group = grouping(key_type(task.schema, ()), context.groups)
        only = len(task.schema.fields) == 1
        self._counted = KeptRows(lambda row: self._identity(row[:-1]), lambda row: group(row[0] if only else row[:-1]))

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterator[Batch]:
        self.counts["rows"] += len(batch)
        width, by = len(self._schema.fields), -1 if batch.taken_back else 1
        changed: list[Row] = []
        for whole in batch.rows():
            row = whole[:width]
            name = self._identity(row)
            kept = self._counted.get(name)
            before = kept[-1] if kept is not None else 0
            assert isinstance(before, int), "so many are alike"
            if before + by:
                self._counted.put(name, (*row, before + by))
            else:
                self._counted.drop(name)
            if (before > 0) != (before + by > 0):
                changed.append(row)
        yield from self._cut(self._batch(changed, batch.partition if batch.taken_back else ""))

    def save(self) -> Mapping[int, bytes]:
        return self._counted.save()

    def restore(self, state: Mapping[int, bytes]) -> None:
        self._counted.restore(state)
