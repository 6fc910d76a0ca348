"""Copies of a state directory that no daemon uses: what they may not touch, and where they cannot be made."""

import os
from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.daemon.backup import back_up, restore
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.store import open_store


@pytest.fixture
def state(tmp_path: Path) -> StateDirectory:
    state = StateDirectory(tmp_path / "state")
    state.path.mkdir(mode=0o700)
    open_store(state.store).close()
    (state.path / "dead").mkdir()
    (state.path / "dead" / "letter").write_text("one")
    return state


def test_what_stands_beside_is_left_alone(state: StateDirectory, tmp_path: Path) -> None:
    for name in ("copy.new", "again.new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine").write_text("two")
    (tmp_path / "copy").mkdir()
    back_up(state, tmp_path / "copy")
    restore(tmp_path / "copy", StateDirectory(tmp_path / "again"))
    assert (tmp_path / "again" / "dead" / "letter").read_text() == "one"
    assert [(tmp_path / name / "mine").read_text() for name in ("copy.new", "again.new")] == ["two", "two"]
    assert (tmp_path / "copy").stat().st_mode & 0o077 == 0
    assert {each.name for each in tmp_path.iterdir()} == {"state", "copy", "copy.new", "again", "again.new"}


def test_a_state_is_not_copied_into_itself(state: StateDirectory) -> None:
    for target in (state.path / "copy", state.path / "dead" / "copy", state.path):
        with pytest.raises(GhcmError, match="it is in what is backed up") as refused:
            back_up(state, target)
        assert refused.value.code == "GHCM-770"
    assert os.listdir(state.path / "dead") == ["letter"]


def test_a_folder_that_cannot_be_made_is_told(state: StateDirectory, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for target in (tmp_path / "file", tmp_path / "file" / "copy"):
        with pytest.raises(GhcmError, match="cannot back up to") as refused:
            back_up(state, target)
        assert refused.value.code == "GHCM-770"
