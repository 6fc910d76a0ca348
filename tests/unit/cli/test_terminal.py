"""Data is data for a terminal: nothing that it holds steers one, and none of it is markup."""

import pytest

from ghcm.cli import terminal
from ghcm.errors import Diagnostic, GhcmError, render
from ghcm.source import Source, Span


@pytest.mark.parametrize("watched", [True, False])
def test_data_steers_no_terminal(
    watched: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "dumb")  # no colours of ours
    monkeypatch.setattr("sys.stdout.isatty", lambda: watched)
    monkeypatch.setattr("sys.stderr.isatty", lambda: watched)
    data = "\x1b[2J[bold]x\x07"
    terminal.table(["s"], [[data]], "nothing")
    for line in (terminal.say, terminal.note, terminal.warn):
        line(data)
    far = Diagnostic("GHCM-100", "wrong", Span(Source("p.istream", "x" * 150), 149, 150))
    elsewhere = render(far)
    terminal.error(GhcmError(f"found {data}"))
    assert render(far) == elsewhere
    said = capsys.readouterr()
    assert (said.out + said.err).count("[bold]x") == 5
    assert (("\x1b[2J" in said.out), ("\x1b[2J" in said.err)) == ((False, False) if watched else (True, True))


@pytest.mark.parametrize("watched", [True, False])
def test_how_far_it_is_gives_way_on_a_terminal_alone(
    watched: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: watched)
    for share in (1, 2):
        terminal.passing(f"{share} % " + "x" * 1000)
    terminal.note("a line")
    terminal.note("another")
    said = capsys.readouterr().err
    lines = said.split("\r\x1b[K")
    assert [line[:3] for line in lines] == (["", "1 %", "2 %", "a l"] if watched else ["a l"])
    assert all(len(line) < 500 for line in lines) and lines[-1] == "a line\nanother\n"


def test_no_cell_of_csv_is_a_formula(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.rows(["item", "=n"], [{"item": "=1+1", "=n": -1.5}, {"item": "@x", "=n": None}], "", json=False, csv=True)
    assert capsys.readouterr().out == "item,'=n\r\n'=1+1,-1.5\r\n'@x,\r\n"
