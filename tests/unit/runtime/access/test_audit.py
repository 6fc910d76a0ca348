"""The audit log: every line whole, for its owner alone, and never more than so much."""

import json
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ghcm.runtime.access.audit import AuditLog


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_line_says_who_did_what_when_and_from_where(tmp_path: Path) -> None:
    AuditLog(tmp_path / "audit").note("call", caller="ann\n{", origin="::1", unit="total", call=None)
    (line,) = lines(tmp_path / "audit")
    assert str(line.pop("time")).endswith("Z")
    assert line == {"action": "call", "caller": "ann\n{", "from": "::1", "unit": "total"}
    assert stat.S_IMODE((tmp_path / "audit").stat().st_mode) == 0o600


def test_writers_that_rotate_beside_each_other_lose_no_line(tmp_path: Path) -> None:
    def write(writer: int) -> None:
        log = AuditLog(tmp_path / "audit", most=2_000, files=100)
        for number in range(40):
            log.note("call", caller=f"{writer}", origin="", number=number)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(write, range(6)))
    files = [*tmp_path.iterdir()]
    found = [(line["caller"], line["number"]) for path in files for line in lines(path)]
    assert sorted(found, key=str) == sorted(((str(w), n) for w in range(6) for n in range(40)), key=str)
    assert len(files) > 5 and all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)


def test_old_lines_go(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit", most=1, files=3)
    for number in range(10):
        log.note("call", caller="", origin="", number=number)
    assert {path.name: lines(path)[0]["number"] for path in tmp_path.iterdir()} == {
        "audit": 9,
        "audit.1": 8,
        "audit.2": 7,
    }


def test_very_many_refusals_do_not_drive_out_what_others_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "time", lambda: now)
    log = AuditLog(tmp_path / "audit")
    for _ in range(500):
        log.refused(caller="", origin="10.0.0.1")
    now = 1001.0
    log.refused(caller="", origin="10.0.0.1")
    found = lines(tmp_path / "audit")
    assert len(found) == 21
    assert found[-1]["left_out"] == 480


def test_a_log_that_cannot_be_written_stops_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    AuditLog(tmp_path / "none" / "audit").note("call", caller="ann", origin="")
    assert "cannot be written" in caplog.text and "ann" in caplog.text
