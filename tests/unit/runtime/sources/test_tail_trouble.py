"""What a tail cannot read is said, with the file and the reason."""

from __future__ import annotations

import os
from errno import EACCES
from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.sources.tail import Tailing
from tests.unit.runtime.sources.test_tail import ALL, LOG, ROW, add, lines


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path


@pytest.fixture
def log(base: Path) -> Path:
    return base / "in" / "app.log"


def test_a_file_that_is_gone_and_was_not_kept_open_is_said(
    base: Path, log: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("ghcm.runtime.sources.tail._OPEN", 1)
    tailing = Tailing(ALL, ROW, "p", base, {})
    for number in range(3):
        add(log.with_name(f"{number}.log"), lines(number))
    assert sum(piece.batch is not None for piece in tailing.look()) == 3
    log.with_name("0.log").unlink()
    assert [piece.position for piece in tailing.look()] == [None]
    assert '"in/0.log" has no name any more in its folder' in caplog.text
    tailing.close()


def test_a_name_that_may_not_be_asked_for_is_said(log: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    really_stat = os.stat

    def refuse(path: Path) -> os.stat_result:
        if path == log:
            raise PermissionError(EACCES, os.strerror(EACCES), str(path))
        return really_stat(path)

    def found(path: str, _: Path) -> list[str]:
        return [path]

    add(log, lines(1))
    monkeypatch.setattr("ghcm.runtime.sources.tail.find_files", found)
    monkeypatch.setattr("ghcm.runtime.sources.growing_file.os.stat", refuse)
    with pytest.raises(GhcmError, match=r'cannot read "in/app\.log": Permission denied'):
        list(Tailing(LOG, ROW, "p", base, {}).look())


@pytest.mark.parametrize("first", [True, False])
def test_a_file_that_may_not_be_read_is_said(
    log: Path, base: Path, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_open = os.open

    def refuse(path: Path, flags: int) -> int:
        if path.name == "locked.log":
            raise PermissionError(EACCES, os.strerror(EACCES), str(path))
        return really_open(path, flags)

    monkeypatch.setattr("ghcm.runtime.sources.growing_file.os.open", refuse)
    add(log, "" if first else lines(1))
    tailing = Tailing(ALL, ROW, "p", base, {})
    assert sum(1 for _ in tailing.look()) == (0 if first else 1)
    add(log.with_name("locked.log"), lines(1))
    with pytest.raises(GhcmError, match=r'cannot read "in/locked\.log": Permission denied'):
        list(tailing.look())
    tailing.close()
