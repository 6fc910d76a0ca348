"""The results of aggregations, from single states and from merged columns; a group without a value is a dead letter
with its key and window. Where a reducer can fail, a record for which it does spoils its group, and no other.

When groups are due is decided in `groups`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, cast

import polars as pl

from ghcm.functions import Failure
from ghcm.reducers import Custom, Fields, Reducer
from ghcm.runtime.contract import NEVER, Context, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row, in_columns
from ghcm.runtime.data.keys import identity_of, value_of
from ghcm.runtime.native.code import GroupCode, Parameters
from ghcm.runtime.native.rows import RecordFailure
from ghcm.runtime.operators.task_operator import TaskOperator
from ghcm.runtime.state.group_state import WindowTimes, layout_of
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import ReduceByKey
from ghcm.types import Struct

_AT_ONCE = 1024
"""Single states whose results are made before somebody is offered them, so that others have their turn in between."""


class GroupingOperator(TaskOperator):
    """Makes what one aggregation gives on. Holds no groups."""

    def __init__(self, task: Task, unit: Unit, code: GroupCode, context: Context) -> None:
        super().__init__(task, unit, context)
        self._layout = layout = layout_of(self._takes, task)
        self._code = fallible(code) if isinstance(task.op, ReduceByKey) and has_lambda(task.op.reducer) else code
        self._plain_keys = layout.key is None or identity_of(layout.key_type) is None
        self._key_value = None if layout.key is None else value_of(layout.key_type)

    def _results_of(self, frame: pl.DataFrame) -> Iterator[Batch] | None:
        """The results of merged groups, of any windows; None where single states must do it."""
        results = self._code.results
        made = in_columns(lambda: results(frame)) if results is not None and self._plain_keys else None
        # Whoever takes it takes as much of it as it likes.
        return None if made is None else self._cut(self._framed(made), self._context.rows * 8)

    def _single(self, groups: Mapping[object, object], window: WindowTimes | None, outbox: Outbox) -> Iterator[Batch]:
        """The results of single states of one window (None: of none), made as they are asked for. `groups` may change
        meanwhile.
        """
        items = list(groups.items())
        most = min(self._context.rows, _AT_ONCE)
        for start in range(0, len(items), most):
            yield self._batch(self._rows_of(items[start : start + most], window, outbox))

    def _rows_of(self, groups: list[tuple[object, object]], window: WindowTimes | None, outbox: Outbox) -> list[Row]:
        rows: list[Row] = []
        hidden = (window[1] - 1, NEVER) if window is not None and self._timed else ()
        names = self._layout.names
        plain, pairs = all(name in ("key", "value", "window") for name in names), names == ("key", "value")
        for identity, state in groups:
            key = self._key_of(identity)
            try:
                value = self._code.result(state, self._parameters)
            except RecordFailure as failure:
                self._group_failed(key, window, failure, outbox)
                continue
            if pairs:
                rows.append((key, value, *hidden))
                continue
            fields = cast("Row", value) if isinstance(value, tuple) else (value,)
            parts: dict[str, object] = {"key": key, "value": value, "window": window}
            rows.append((*(parts[name] for name in names), *hidden) if plain else (*fields, *hidden))
        return rows

    def _key_of(self, identity: object) -> object:
        return self._key_value(identity) if self._key_value is not None else identity

    def _group_failed(self, key: object, window: WindowTimes | None, failure: RecordFailure, outbox: Outbox) -> None:
        names = ("window",) if self._layout.key is None else ("key", "window")
        type_ = Struct(tuple(field for field in self._takes.columns.fields if field.name in names))
        value = tuple(key if field.name == "key" else window for field in type_.fields)
        self._dead(outbox, value, type_, failure.reason, failure.detail)


_Attempt: TypeAlias = tuple[object, tuple[str, str] | None]


def has_lambda(reducer: Reducer) -> bool:
    """Whether a part of it is a function of the program."""
    match reducer:
        case Custom():
            return True
        case Fields(parts=parts):
            return any(map(has_lambda, parts))
        case _:
            return False


def fallible(code: GroupCode) -> GroupCode:
    """The same aggregation where a failing reducer spoils its group, not the record: the group's result then fails.

    Its states are pairs: the reducer's own state, or None, and why it failed, or None.
    """

    def attempt(compute: Callable[[], object], *before: _Attempt) -> _Attempt:
        for each in before:
            if each[1] is not None:
                return each
        try:
            return compute(), None
        except RecordFailure as failure:
            return None, (failure.reason.value, failure.detail)

    def add(state: Any, value: object, parameters: Parameters) -> object:
        return attempt(lambda: code.add(state[0], value, parameters), state)

    def merge(left: Any, right: Any, parameters: Parameters) -> object:
        return attempt(lambda: code.merge(left[0], right[0], parameters), left, right)

    def result(state: Any, parameters: Parameters) -> object:
        if state[1] is not None:
            raise RecordFailure(Failure(state[1][0]), state[1][1])
        return code.result(state[0], parameters)

    def first(value: object, parameters: Parameters) -> object:
        return attempt(lambda: code.first(value, parameters))

    return GroupCode(first, add, merge, result, slices=code.slices)
