"""`ghcm check` of several files ends as the worst of them, and says what no engine would run."""

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


def test_what_no_engine_runs_is_said_by_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "floats.istream"
    unit = """
batch {name}{engine} {{
  rows = files("r.jsonl", format = json).as(R)
  rows.map(r => {{ texts: r.xs.map(x => to_string(x)) }}).to({name}_out)
}}
"""
    sinks = "".join(f'sink {name}_out = parquet("out/{name}", mode = replace)\n' for name in "abc")
    units = (("a", ""), ("b", " engine = spark"), ("c", " engine = spark"))
    written = "".join(unit.format(name=name, engine=engine) for name, engine in units)
    path.write_text(f"program floats\nrecord R {{ xs: list<float> }}\n{sinks}{written}")
    with pytest.raises(typer.Exit) as ended:
        check([path])
    said = capsys.readouterr().err
    assert ended.value.exit_code == 2
    assert said.count("error[GHCM-525]") == said.count("hint: flat_map(...) makes records of the items") == 2
    assert "floats.istream:14:8" in said and "floats.istream:19:8" in said and "^^^" in said
