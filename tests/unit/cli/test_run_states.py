"""The state directories of runs: one for each that runs at the same time, none taken from another."""

import os
from pathlib import Path

import pytest

from ghcm.cli.private import RunStates
from ghcm.errors import GhcmError
from ghcm.runtime.daemon.resubmission import Again
from ghcm.runtime.settings import Settings


def states(folder: Path) -> RunStates:
    return RunStates(folder / "runs", "work", folder, Settings())


def test_runs_that_begin_at_once_have_states_of_their_own(tmp_path: Path) -> None:
    """Before any daemon of theirs listens."""
    claimed = [states(tmp_path).claim(Again.UNSAID) for _ in range(3)]
    assert [state.path.name for state, _ in claimed] == ["work", "work-2", "work-3"]
    for _, lock in claimed[:2]:
        os.close(lock)
    (tmp_path / "runs/work/left").mkdir()
    found, lock = states(tmp_path).claim(Again.FRESH)
    assert (found.path.name, [each.name for each in found.path.iterdir()]) == ("work", ["lock"])
    for each in (lock, claimed[2][1]):
        os.close(each)


def test_what_has_not_run_here_is_not_resumed(tmp_path: Path) -> None:
    with pytest.raises(GhcmError, match='no earlier run of "work" could be resumed'):
        states(tmp_path).claim(Again.RESUME)


def test_what_runs_have_left_is_open_to_this_user_alone(tmp_path: Path) -> None:
    home = tmp_path / ".ghcm"
    letters = home / "runs" / "work" / "dead" / "program" / "unit"
    letters.mkdir(parents=True)
    found, lock = states(home).claim(Again.UNSAID)
    os.close(lock)
    assert found.path == home / "runs" / "work"
    assert len(list((home / "earlier").glob("*/program/unit"))) == 1
    assert home.stat().st_mode & 0o077 == 0
