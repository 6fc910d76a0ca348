"""`ghcm fmt` rewrites files as an editor would, and says what it cannot read."""

import os
import stat
from pathlib import Path

import pytest
import typer

from ghcm.cli.failure import guarded
from ghcm.cli.programs import fmt

UNTIDY = "program untidy\nrecord A{a:int}\n"
TIDY = "program untidy\n\nrecord A { a: int }\n"


def formatted(path: Path) -> int:
    try:
        guarded(fmt)([path])
    except typer.Exit as end:
        return end.exit_code
    return 0


def test_a_link_stays_a_link_and_its_file_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    file, link = tmp_path / "elsewhere" / "real.istream", tmp_path / "link.istream"
    file.write_text(UNTIDY)
    file.chmod(0o640)
    link.symlink_to(file)
    assert formatted(link) == 0
    assert link.is_symlink()
    assert file.read_text() == TIDY
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert os.listdir(tmp_path / "elsewhere") == ["real.istream"]


def test_a_file_that_cannot_be_replaced_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.istream"
    file.write_text(UNTIDY)

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert formatted(file) == 1
    assert "no space left on device" in capsys.readouterr().err
    assert file.read_text() == UNTIDY
    assert os.listdir(tmp_path) == ["a.istream"]


def test_what_is_no_text_is_shown_at_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "latin.istream"
    file.write_bytes(b"\xef\xbb\xbfprogram latin\n# caf\xe9\n")
    assert formatted(file) == 2
    said = capsys.readouterr().err
    assert "is not UTF-8 text" in said
    assert f"{file}:2:6" in said


def test_a_missing_file_and_a_folder_are_mistakes_of_the_caller(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "b.istream").mkdir()
    (tmp_path / "ab.istream").write_text(TIDY)
    assert formatted(tmp_path / "a.istream") == 2
    assert 'did you mean "ab.istream"?' in capsys.readouterr().err
    assert formatted(tmp_path / "b.istream") == 2
    assert "is a folder" in capsys.readouterr().err


def test_one_file_that_is_wrong_does_not_keep_others_from_being_rewritten(tmp_path: Path) -> None:
    wrong, untidy = tmp_path / "a.istream", tmp_path / "b.istream"
    wrong.write_text("program {\n")
    untidy.write_text(UNTIDY)
    with pytest.raises(typer.Exit) as ended:
        fmt([wrong, untidy])
    assert ended.value.exit_code == 2
    assert untidy.read_text() == TIDY
