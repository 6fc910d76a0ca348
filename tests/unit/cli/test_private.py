"""The state of a daemon of a command's own."""

from pathlib import Path

from ghcm.cli.private import free_state


def test_what_runs_have_left_is_open_to_this_user_alone(tmp_path: Path) -> None:
    state = tmp_path / ".ghcm"
    letters = state / "runs" / "program" / "dead" / "program" / "unit"
    letters.mkdir(parents=True)
    assert free_state(state / "runs", "program").path == state / "runs" / "program"
    assert len(list((state / "earlier").glob("*/program/unit"))) == 1
    assert state.stat().st_mode & 0o077 == 0
