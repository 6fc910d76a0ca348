"""`ghcm check` of several files ends as the worst of them."""

from pathlib import Path

import pytest
import typer

from ghcm.cli.programs import check


def test_one_wrong_program_among_several_ends_with_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, wrong, away = (tmp_path / f"{name}.istream" for name in ("good", "wrong", "away"))
    good.write_text("program good\n")
    wrong.write_text("program wrong\nsink s\n")
    away.write_text("program away\n")
    check([good])

    def unreadable(path: Path) -> bytes:
        if path.name == "away.istream":
            raise RuntimeError("a bug")
        return original(path)

    original = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", unreadable)
    for files, code in (([wrong, good], 2), ([good, away], 1), ([away, wrong, good], 2)):
        with pytest.raises(typer.Exit) as ended:
            check(files)
        assert ended.value.exit_code == code
