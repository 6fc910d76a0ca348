"""Batches that wait: what a snapshot has of them, and that it writes each once."""

from __future__ import annotations

import polars as pl

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.state.runs import Run
from ghcm.runtime.state.waiting import Waiting
from ghcm.types import Collection, Field, Int, Shape, Struct

NUMBER = Struct((Field("n", Int()),))
TAKES = Collection(Shape.STREAM, NUMBER, bounded=True)


def _batch(*numbers: int, partition: str = "a", columns: bool = True) -> Batch:
    if columns:
        return Batch.from_frame(NUMBER, pl.DataFrame({"n": numbers}), partition=partition)
    return Batch.from_rows(NUMBER, [(number,) for number in numbers], partition=partition)


def _all(waiting: Waiting) -> list[tuple[str, list[object]]]:
    return [(batch.partition, [row[0] for row in batch.rows()]) for batch in waiting.take()]


def test_what_waits_comes_back_in_order_and_is_written_once() -> None:
    waiting = Waiting(TAKES)
    for batch in (_batch(3, 1), _batch(2), _batch(9, partition="b"), _batch(7, columns=False), _batch(*range(500))):
        waiting.add(batch)
    entries, runs = waiting.save()
    assert [run.frame["n"].to_list()[:3] for run in runs] == [[3, 1, 2], [9], [0, 1, 2]]
    waiting.add(_batch(4))
    later, more = waiting.save()
    assert later[:-1] == entries
    assert [run.name for run in more[:-1]] == [run.name for run in runs]

    restored = Waiting(TAKES)
    restored.restore(later, {run.name: Run.unpacked(run.name, run.packed()) for run in more})
    assert [run.name for run in restored.save()[1]] == [run.name for run in more]
    expected = [("a", [3, 1, 2]), ("b", [9]), ("a", [7]), ("a", [*range(500), 4])]
    assert _all(restored) == _all(waiting) == expected
    assert not waiting
