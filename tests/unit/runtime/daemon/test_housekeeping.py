"""What is removed when its time is over, and what never is."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ghcm.places import Remote
from ghcm.runtime.daemon.housekeeping import Housekeeping
from ghcm.runtime.daemon.state import StateDirectory, note_base
from ghcm.runtime.jobs.store import JobState, Store, open_store
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, State, now_us
from ghcm.runtime.settings import Keep

HOUR_US = 3600 * 1_000_000


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    state = StateDirectory(tmp_path / "state")
    for folder in (state.logs, state.path / "bundles"):
        folder.mkdir(parents=True)
    return state


@pytest.fixture
def store(state: StateDirectory) -> Iterator[Store]:
    store = open_store(state.store)
    yield store
    store.close()


def keeping(state: StateDirectory, store: Store, keep: Keep, *written: str) -> Housekeeping:
    snapshots = state.path / "snapshots"
    return Housekeeping(keep, state, store, snapshots, lambda job: job.id in written)


def job(state: StateDirectory, store: Store, id: str, moved: JobState, hours_ago: int, base: Path) -> None:
    """A job of the program `traffic` that ended so long ago, with all that jobs leave."""
    store.jobs.submit(id, "traffic", str(state.bundle(id)))
    store.jobs.move(id, moved)
    then = now_us() - hours_ago * HOUR_US
    store.database.change("UPDATE jobs SET submitted = ?, ended = ended * 0 + ? WHERE id = ?", then, then, id)
    note_base(state.base(id), base)
    for left in (state.bundle(id), state.bundle(id, 2), state.logs / f"{id}.log", state.logs / f"{id}.log.1"):
        left.write_text(id)
    (state.path / "snapshots" / id / "feed").mkdir(parents=True)


def left(state: StateDirectory) -> set[str]:
    """The jobs of which something is left."""
    kinds = ("bundles", "logs", "snapshots")
    return {path.name.partition(".")[0] for kind in kinds for path in (state.path / kind).glob("*")}


def test_jobs_go_with_all_that_is_theirs_but_those_that_a_program_may_go_on_from(
    state: StateDirectory, store: Store, tmp_path: Path
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    job(state, store, "t-9", JobState.DONE, 9, here)
    job(state, store, "t-8", JobState.STOPPED, 8, here)  # what it has written must not be written twice
    job(state, store, "t-7", JobState.FAILED, 7, here)
    job(state, store, "t-6", JobState.STOPPED, 6, here)  # this is the one that --resume takes
    job(state, store, "t-5", JobState.DONE, 9, there)
    keeping(state, store, Keep(jobs=5 * 3600.0), "t-9", "t-8").tidy()
    assert {each.id for each in store.jobs.find()} == left(state) == {"t-8", "t-7", "t-6", "t-5"}
    keeping(state, store, Keep(jobs=5 * 3600.0), "t-9", "t-8", "t-7", "t-6").tidy()
    assert {each.id for each in store.jobs.find()} == left(state) == {"t-6", "t-5"}


def test_a_job_that_runs_or_whose_time_is_not_over_stays(state: StateDirectory, store: Store, tmp_path: Path) -> None:
    job(state, store, "t-1", JobState.RUNNING, 9, tmp_path)
    job(state, store, "t-2", JobState.DONE, 2, tmp_path)
    job(state, store, "t-3", JobState.DONE, 1, tmp_path)
    keeping(state, store, Keep(jobs=5 * 3600.0), "t-1", "t-2", "t-3").tidy()
    assert left(state) == {"t-1", "t-2", "t-3"}


def test_dead_letters_go_when_their_program_has_long_ended(state: StateDirectory, store: Store, tmp_path: Path) -> None:
    job(state, store, "t-1", JobState.RUNNING, 9, tmp_path)
    for program in ("traffic", "old", "fresh"):
        table = state.dead / program / "feed"
        table.mkdir(parents=True)
        (table / "part").touch()
        if program != "fresh":
            for path in (table / "part", table):
                os.utime(path, (0, 0))
    keeping(state, store, Keep()).tidy()
    assert {path.parent.name for path in state.dead.glob("*/*")} == {"traffic", "fresh"}


def test_logs_are_begun_anew_while_their_processes_write(state: StateDirectory, store: Store) -> None:
    house = keeping(state, store, Keep(log_bytes=1000))
    log = state.logs / "http.log"
    with log.open("ab", buffering=0) as writing:
        writing.write(b"a" * 999 + b"\n")
        house.rotate()
        writing.write(b"one more\n")
        assert not log.with_suffix(".log.1").exists()
        house.rotate()
        writing.write(b"begun anew\n")
    assert log.read_bytes() == b"begun anew\n"
    assert log.with_suffix(".log.1").read_bytes() == b"a" * 999 + b"\none more\n"


def test_a_log_that_cannot_be_begun_anew_holds_up_no_other(state: StateDirectory, store: Store) -> None:
    for name in ("a", "b", "c"):
        (state.logs / f"{name}.log").write_bytes(b"x" * 2000)
    (state.logs / "b.log.1" / "b.log").mkdir(parents=True)
    keeping(state, store, Keep(log_bytes=1000)).rotate()
    assert {path.name for path in state.logs.glob("*.log") if path.stat().st_size} == {"b.log"}


def test_a_job_whose_snapshots_cannot_be_reached_stays_and_holds_up_nothing(
    state: StateDirectory, store: Store, tmp_path: Path
) -> None:
    for number in (3, 2, 1):
        job(state, store, f"t-{number}", JobState.DONE, number, tmp_path)
    (state.dead / "old" / "feed").mkdir(parents=True)
    os.utime(state.dead / "old" / "feed", (0, 0))
    away = Remote("hdfs://127.0.0.1:1/snapshots")
    Housekeeping(Keep(jobs=60.0), state, store, away, lambda _: True).tidy()
    assert left(state) == {each.id for each in store.jobs.find()} == {"t-3", "t-2", "t-1"}
    assert not (state.dead / "old" / "feed").exists()


def test_the_call_that_has_started_a_batch_unit_stays_as_long_as_its_job(store: Store) -> None:
    store.jobs.submit("t-1", "traffic", "t.ghcm")
    for id in ("t-1.load", "t-0.load", "somebody's"):
        store.calls.accept(Instruction(id, "traffic", "load"))
        store.calls.finish(id, Feedback(id, State.DONE))
    assert store.calls.forget(now_us() + HOUR_US) == 2
    assert store.calls.get("t-1.load") is not None
