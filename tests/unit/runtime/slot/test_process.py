"""What the process of an engine reports, whatever happens between two looks at the engine."""

import json
import threading
from pathlib import Path

import pytest

from ghcm.driver import build
from ghcm.errors import GhcmError
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.slot import process
from ghcm.runtime.slot.engine import Engine
from tests.system.running import until

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


COUNTING = """program counting

sink totals = files("out", format = json, mode = append)

stream count { generate(rows = 3).to(totals) }
"""


def test_a_loop_that_takes_long_over_one_step_is_told_with_each_beat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "counting.istream").write_text(COUNTING)
    bundle = Bundle.open(build(tmp_path / "counting.istream"))
    monkeypatch.setattr(process, "_LONG_STEP_S", 0.0)
    begun, goes_on = threading.Event(), threading.Event()
    words = ["--bundle", "x", "--job", "x", "--state", str(tmp_path)]
    beating = process._Process(process._arguments(words))  # pyright: ignore[reportPrivateUsage]

    def beat() -> str:
        beating._beat()  # pyright: ignore[reportPrivateUsage]
        return str(json.loads(capsys.readouterr().out)["trouble"])

    def hold() -> None:
        begun.set()
        assert goes_on.wait(60)

    with Engine(bundle, connections=Connections(tmp_path), state=tmp_path / "state") as engine:
        beating._engine = engine  # pyright: ignore[reportPrivateUsage]
        until(lambda: engine.turn is None, "the loop to have nothing to do")
        assert beat() == beat() == ""
        asking = threading.Thread(target=engine.call, args=(hold,))
        asking.start()
        assert begun.wait(60)
        assert beat() == ""  # which sees this step for the first time
        assert beat().startswith("one step has taken 0 s")
        goes_on.set()
        asking.join()
        until(lambda: engine.turn is None, "the step to end")
        assert beat() == ""
        monkeypatch.setattr(Engine, "unheard", "best")
        beating._beat()  # pyright: ignore[reportPrivateUsage]
        told = {"event": "beat", "trouble": 'calls of "best" do not come to it yet', "serves": False}
        assert json.loads(capsys.readouterr().out) == told
