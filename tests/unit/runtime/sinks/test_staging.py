"""What writers that were killed have left in tables, and who removes it."""

from pathlib import Path

import pytest

from tests.tables import add, left_behind, rows_in, sink_of, writer_of


def test_what_a_killed_one_was_removing_the_next_removes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = sink_of(tmp_path)

    def begin(folder: Path, **_: object) -> None:
        (folder / "prepared.json").unlink()

    killed = writer_of(sink)
    with monkeypatch.context() as patched:
        patched.setattr("shutil.rmtree", begin)
        add(sink, "v1", ("a", 1), writer=killed)
    assert left_behind(tmp_path) != []
    killed.close()
    following = writer_of(sink)
    following.recover()
    following.close()
    assert left_behind(tmp_path) == []
    assert rows_in(sink) == [("a", 1)]
