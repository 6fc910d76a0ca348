"""Sessions of a batch unit: all of its records, then the session of each.

Only input that ends has them here: where a session of a stream ends depends on what comes later.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import polars as pl

from ghcm import types
from ghcm.functions import Failure
from ghcm.runtime.contract import Context, Outbox
from ghcm.runtime.data.batch import TIME, Batch
from ghcm.runtime.data.columns import Row, dtype, values
from ghcm.runtime.data.keys import identity_of
from ghcm.runtime.operators.task_operator import TaskOperator, batch_of
from ghcm.spg.graph import Task, Unit
from ghcm.spg.ops import Sessions
from ghcm.types import INT_MAX, Field, Shape


class SessionsOperator(TaskOperator):
    """Keeps its input as it came, and gives it on when it has ended, each batch with its windows."""

    def __init__(self, task: Task, op: Sessions, unit: Unit, context: Context) -> None:
        super().__init__(task, unit, context)
        self._gap = op.gap_us
        keyed = self._takes.shape is Shape.PAIRS
        self._key = self._takes.columns.field_of("key") if keyed else None
        self._window = task.schema.index("window")
        self._taken: list[Batch] = []

    def process(self, ordinal: int, batch: Batch, outbox: Outbox) -> Iterable[Batch]:
        self._taken += [each for each in [self._lasting(batch, outbox)] if len(each)]
        return ()

    def _lasting(self, batch: Batch, outbox: Outbox) -> Batch:
        """The records whose sessions end within what a timestamp can hold; the others are dead."""
        last = INT_MAX - self._gap
        if batch.columnar and not (batch.frame()[TIME] > last).any():
            return batch
        if all(cast("int", row[-2]) <= last for row in batch.rows()):
            return batch
        kept: list[Row] = []
        for row in batch.rows():
            if cast("int", row[-2]) <= last:
                kept.append(row)
            else:
                self._dead(outbox, self._record(row), self._takes.element, Failure.OVERFLOW, "its session has no end")
        return batch.with_rows(batch.schema, kept)

    def finish(self, outbox: Outbox) -> Iterator[Batch]:
        taken, self._taken = self._taken, []
        if not taken:
            return
        whole = Batch.concat(taken)
        if self._columnar(whole):
            self.counts["columns"] += len(whole)
            windows = self._in_columns(whole.frame())
            begin = 0
            for batch in taken:
                frame = batch.frame().with_columns(windows.slice(begin, len(batch)))
                begin += len(batch)
                yield from self._cut(self._framed(frame, batch.partition))
            return
        self.counts["rows"] += len(whole)
        sessions = self._in_rows(whole.rows())
        for batch in taken:
            yield from self._cut(
                self._batch([self._placed(row, next(sessions)) for row in batch.rows()], batch.partition)
            )

    def _placed(self, row: Row, window: tuple[int, int]) -> Row:
        return (*row[: self._window], window, *row[self._window :])

    # --- rows --------------------------------------------------------------------------------------------------------

    def _in_rows(self, rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
        """The session of each row."""
        keys = list(map(self._identity(), rows))
        times: dict[object, list[int]] = {}
        for key, row in zip(keys, rows, strict=True):
            times.setdefault(key, []).append(cast("int", row[-2]))
        begun = {key: self._begun(sorted(each)) for key, each in times.items()}
        for key, row in zip(keys, rows, strict=True):
            starts, ends = begun[key]
            at = bisect_right(starts, cast("int", row[-2])) - 1
            yield starts[at], ends[at]

    def _begun(self, times: Sequence[int]) -> tuple[list[int], list[int]]:
        """Where sessions begin and end, in order."""
        starts, ends = [times[0]], [times[0] + self._gap]
        for time in times:
            if time < ends[-1]:
                ends[-1] = time + self._gap
            else:
                starts.append(time)
                ends.append(time + self._gap)
        return starts, ends

    def _identity(self) -> Callable[[Row], object]:
        if self._key is None:
            return lambda row: None
        at, change = self._takes.columns.index("key"), identity_of(self._key.type)
        return (lambda row: row[at]) if change is None else lambda row: change(row[at])

    # --- columns -----------------------------------------------------------------------------------------------------

    def _in_columns(self, frame: pl.DataFrame) -> pl.Series:
        """The windows of the records, in their order."""
        time = pl.col(TIME)
        ends = pl.col("@begins").shift(-1, fill_value=True)
        window = pl.struct(
            pl.when("@begins").then(time).forward_fill().alias("start"),
            pl.when(ends).then(time + self._gap).backward_fill().alias("end"),
        )
        found = in_order(frame, self._key, self._gap).select("@at", window.alias("window"))
        return found.sort("@at")["window"].cast(dtype(self._schema.field_of("window").type))

    def _kept(self) -> object:
        return [(batch.partition, list(batch.rows())) for batch in self._taken] or None

    def _put_back(self, kept: Any) -> None:
        self._taken += [batch_of(self._takes, rows, partition) for partition, rows in kept]


def in_order(frame: pl.DataFrame, key: Field | None, gap_us: int) -> pl.DataFrame:
    """The records by key (None: all have one) and time, of equal times as they came: `@at`, where each stands in the
    frame, `@time`, and `@begins`, whether a session begins with it.
    """
    keys = _keys(frame, key)
    time, names = pl.col(TIME), keys.columns[:-1]
    others = [pl.col(name).ne_missing(pl.col(name).shift(1)) for name in names]
    begins = pl.any_horizontal(time - time.shift(1) >= gap_us, *others).fill_null(value=True)
    order = keys.with_row_index("@at").sort(*names, TIME, "@at")
    return order.select("@at", TIME, begins.alias("@begins"))


def _keys(frame: pl.DataFrame, key: Field | None) -> pl.DataFrame:
    """Columns that are equal where keys are, and the time behind them; a number for each key where Polars does not
    compare as the language does.
    """
    if key is None:
        return frame.select(TIME)
    leaves = _leaves(pl.col("key"), key.type)
    if leaves is not None:
        return frame.select(*(leaf.alias(f"@{number}") for number, leaf in enumerate(leaves)), TIME)
    numbers: dict[object, int] = {}
    identity = identity_of(key.type)
    keys = values(frame["key"], key.type)
    same = keys if identity is None else map(identity, keys)
    return pl.DataFrame({"@0": [numbers.setdefault(each, len(numbers)) for each in same], TIME: frame[TIME]})


def _leaves(column: pl.Expr, type_: types.Type) -> list[pl.Expr] | None:
    """The plain parts of a key; None where one is a float, a list or a map."""
    plain = types.strip(type_)
    match plain:
        case types.Struct(fields=fields):
            inside = [_leaves(column.struct.field(field.name), field.type) for field in fields]
            whole = [column.is_null()] if plain is not type_ or not fields else []
            if any(each is None for each in inside):
                return None
            return [*whole, *(leaf for each in inside for leaf in each or ())]
        case types.Float() | types.List() | types.Map():
            return None
        case _:  # Polars compares values of the rest as the language does
            return [column]
