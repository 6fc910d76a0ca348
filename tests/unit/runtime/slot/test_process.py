"""What the process of an engine reports, whatever happens between two looks at the engine."""

import json
from pathlib import Path

import pytest

from ghcm.driver import build
from ghcm.errors import GhcmError
from ghcm.runtime.slot import process
from ghcm.runtime.slot.engine import Engine

PROGRAM = """program broken

sink lines = files("out", format = json, mode = append)

stream read { files("*.gz", format = text).to(lines) }
"""


class FailsAfterEachLook(Engine):
    """One whose unit has failed by the time at which it has been said that it has not."""

    @property
    def error(self) -> GhcmError | None:
        found = super().error
        assert self.wait(60)
        return found


def test_a_unit_that_fails_between_two_looks_is_not_reported_as_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.istream").write_text(PROGRAM)
    (tmp_path / "lines.gz").write_bytes(b"\x1f\x8b is no archive")
    bundle = build(tmp_path / "broken.istream")
    monkeypatch.setattr(process, "Engine", FailsAfterEachLook)
    where = {"--bundle": bundle, "--job": "broken-1", "--state": tmp_path / "state", "--base": tmp_path}
    words = [str(word) for pair in where.items() for word in pair]
    assert process._Process(process._arguments(words)).run() == 1  # pyright: ignore[reportPrivateUsage]
    reports = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["event"] for each in reports if each["event"] in ("done", "failed")] == ["failed"]
