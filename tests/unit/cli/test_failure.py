"""Errors become messages and exit codes."""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from ghcm.cli.failure import exit_code, guarded, hearing_sigterm
from ghcm.errors import Diagnostic, GhcmError, ProgramError
from ghcm.source import Source, Span


def code_of(command: Callable[[], None]) -> int:
    with pytest.raises(typer.Exit) as ended:
        guarded(command)()
    return ended.value.exit_code


def raising(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(("code", "expected"), [("GHCM-101", 2), ("GHCM-602", 2), ("GHCM-700", 1), ("GHCM-799", 1)])
def test_what_is_wrong_ends_with_2_and_what_failed_with_1(code: str, expected: int) -> None:
    assert exit_code(GhcmError("x", code=code)) == expected


def test_a_wrong_program_shows_every_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    source = Source("p.istream", "one\ntwo\n")
    error = ProgramError([Diagnostic(f"GHCM-20{n}", f"mistake {n}", Span(source, 4 * n, 4 * n + 3)) for n in (0, 1)])
    assert code_of(raising(error)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "mistake 0" in said.err and "p.istream:2:1" in said.err


def test_json_says_where(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["ghcm", "check", "--json"])
    source = Source("p.istream", "one\ntwo\n")
    assert code_of(raising(ProgramError([Diagnostic("GHCM-200", "m", Span(source, 4, 7), hint="h")]))) == 2
    [error] = json.loads(capsys.readouterr().out)["errors"]
    assert (error["line"], error["column"], error["end_column"], error["hint"]) == (2, 1, 4, "h")


def test_the_log_of_a_bug_is_for_this_user_alone_and_holds_no_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GHCM_STATE", raising=False)
    words = ["call", "shop.best", "token=s3cret", "--redis=redis://me:s3cret@host", "--state", "s3cret", "-n"]
    monkeypatch.setattr("sys.argv", ["ghcm", *words])
    assert code_of(raising(RuntimeError("no way to redis://me:s3cret@host:1/0"))) == 1
    [log] = (tmp_path / ".ghcm" / "logs").iterdir()
    assert [path.stat().st_mode & 0o077 for path in (log, tmp_path / ".ghcm")] == [0, 0]
    text = log.read_text()
    assert "command: call ... ... --redis --state ... -n" in text and "redis://host:1/0" in text
    assert "s3cret" not in text + capsys.readouterr().err


def test_ctrl_c_ends_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(raising(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_sigterm_is_heard_as_ctrl_c_and_ends_with_143(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        with hearing_sigterm():
            signal.raise_signal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    assert (code_of(command), signal.getsignal(signal.SIGTERM)) == (143, before)
    assert capsys.readouterr().err == "ended by SIGTERM\n"


def test_what_the_system_refuses_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(raising(PermissionError(13, "Permission denied", "/root/x"))) == 1
    said = capsys.readouterr().err
    assert 'error[GHCM-790]: "/root/x" refused: Permission denied' in said
    assert "hint: choose a place" in said
