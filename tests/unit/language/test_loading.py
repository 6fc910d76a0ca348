from pathlib import Path

import pytest

from ghcm.errors import GhcmError, ProgramError
from ghcm.language import load
from tests.unit.language.traffic import PYTHON, TEXT


def test_text_is_cited_by_the_path_that_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("traffic.istream").write_text(TEXT.replace("bytes: int", "bytes int"), encoding="utf-8")
    with pytest.raises(ProgramError, match=r"--> traffic\.istream:8:9"):
        load("traffic.istream")


def test_python_is_cited_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    path = tmp_path / "sub" / "traffic.py"
    path.write_text(PYTHON.replace("f.bytes > 0", "not f.bytes"), encoding="utf-8")
    with pytest.raises(ProgramError, match=r"--> sub/traffic\.py:45:32"):
        load(path)


def test_a_file_that_changed_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "traffic.py"
    path.write_text(PYTHON, encoding="utf-8")
    first = load(path)
    path.write_text("# one line more\n" + PYTHON, encoding="utf-8")
    second = load(path)
    assert first == second
    places = [program.declarations[0].name.span for program in (first, second)]
    assert [place.origin.line for place in places if place is not None] == [8, 9]


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(GhcmError, match="cannot read"):
        load(tmp_path / "missing.istream")
    with pytest.raises(GhcmError, match="there is no program"):
        load(tmp_path / "missing.py")
    (tmp_path / "latin.istream").write_bytes(b"program caf\xe9\n")
    with pytest.raises(GhcmError, match="is not UTF-8"):
        load(tmp_path / "latin.istream")
