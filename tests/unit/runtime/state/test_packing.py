"""State as bytes by key group, and runs of rows that are written once."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from ghcm.runtime.data.key_groups import groups_of
from ghcm.runtime.engine.host import TaskState
from ghcm.runtime.snapshot.store import Snapshot, SnapshotStore
from ghcm.runtime.state.packing import key_groups, unpack
from ghcm.runtime.state.runs import Run, RunState, runs_of
from ghcm.types import Int


def run_of(first: int, count: int) -> Run:
    frame = pl.DataFrame({"key": pl.int_range(first, first + count, eager=True)})
    return Run(frame, lambda rows: groups_of(rows["key"], Int()))


def test_entries_lie_in_their_key_groups() -> None:
    state = key_groups(iter([(1,), (2,), (4,)]), lambda entry: entry[0] % 2, change=True)
    assert {group: unpack(data) for group, data in state.items()} == {0: [(2,), (4,)], 1: [(1,)]}


def test_an_instance_finds_the_rows_of_its_key_groups() -> None:
    run = run_of(0, 1000)
    unpacked = Run.unpacked(run.name, run.packed())
    parts = [unpacked.of(lambda group, n=n: group % 2 == n) for n in (0, 1)]  # type: ignore[misc]
    rows = [key for part in parts for key in part.put_back(lambda rows: rows["key"]).frame["key"]]
    assert sorted(rows) == list(range(1000)) and all(part.frame.height for part in parts)
    assert unpacked.of(lambda group: True) is unpacked, "what is taken whole keeps its name"


def test_a_snapshot_writes_new_runs_alone_and_drops_those_that_none_names(tmp_path: Path) -> None:
    large, small, other = run_of(0, 100_000), run_of(0, 1000), run_of(5, 10)

    def write(store: SnapshotStore, number: int, *runs: Run) -> dict[str, int]:
        store.write(Snapshot(number, {"a": TaskState((RunState({}, runs),))}))
        return {path.name[-1]: path.stat().st_size for path in (tmp_path / "runs").iterdir()}

    store = SnapshotStore(tmp_path)
    whole = write(store, 1, large)["1"]
    files = write(store, 2, large, small)
    assert files["2"] < whole / 20 and files["1"] == whole
    again = SnapshotStore(tmp_path)
    found = again.latest()
    assert found is not None
    state = found.tasks["a"].groups[0]
    kept = {run.name: run.put_back(lambda rows: rows["key"]) for run in runs_of(state)}
    assert sorted(kept[small.name].frame["key"]) == list(range(1000)) and large.name in kept
    assert write(again, 3, *kept.values()).keys() == {"1", "2"}, "what was read is there already"
    assert write(again, 4, small, other).keys() == {"1", "2", "4"}
    assert write(again, 5, other).keys() == {"2", "4"}
