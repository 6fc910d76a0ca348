"""What a command does with an error: a message, an exit code, and for bugs of ours a log file; never a traceback."""

import errno
import functools
import os
import platform
import re
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, ParamSpec, cast

import typer

import ghcm
from ghcm.cli import terminal
from ghcm.errors import Diagnostic, GhcmError, ProgramError
from ghcm.places import make_private, private_opener

FAILED, WRONG, INTERRUPTED, TERMINATED = 1, 2, 130, 143

P = ParamSpec("P")

_ELSEWHERE = "choose a place that this user may write: another folder, for the state --state or GHCM_STATE."
_HINTS = {
    errno.EACCES: _ELSEWHERE,
    errno.EPERM: _ELSEWHERE,
    errno.EROFS: _ELSEWHERE,
    errno.ENOSPC: "free some room on that disk.",
    errno.EDQUOT: "free some room: the quota of this user is used up.",
    errno.ENOTDIR: "a part of that path is a file.",
    errno.EMFILE: "raise the limit of open files: ulimit -n 4096.",
}
"""What to do about what the system says."""


class Terminated(KeyboardInterrupt):
    """SIGTERM has come, and is heard as Ctrl-C is."""


class RunFailed(GhcmError):
    """What has failed while it ran, whatever its code."""

    def __init__(self, error: GhcmError) -> None:
        super().__init__(error.message, code=error.code, detail=error.detail, hint=error.hint, place=error.place)


def failed_job(job: Mapping[str, Any], hint: str) -> RunFailed:
    """Why a job has failed: the error of the part that did; where there is none what the daemon knows, and `hint`."""
    if job["error"] is not None:
        return RunFailed(GhcmError.of(job["error"]))
    reason = str(job["reason"])
    said = f"{reason[:1].upper()}{reason[1:]}" + ("" if reason.endswith(".") else ".")
    return RunFailed(GhcmError(f'job "{job["id"]}" has failed', code="GHCM-701", detail=said, hint=hint))


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """The command, ending as the command line promises whatever it raises."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as it was while modules were imported
            signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            command(*args, **kwargs)
        except GhcmError as error:
            _report(error)
            raise typer.Exit(exit_code(error)) from None
        except Terminated:
            terminal.note("ended by SIGTERM")
            raise typer.Exit(TERMINATED) from None
        except KeyboardInterrupt:
            terminal.note("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except (typer.Exit, typer.Abort, BrokenPipeError):
            raise
        except OSError as error:
            _report(_of_system(error))
            raise typer.Exit(FAILED) from None
        except Exception:  # the last line of defence: whatever it is, the user gets a message and we get the text
            _report(_of_bug(traceback.format_exc()))
            raise typer.Exit(FAILED) from None

    return run


@contextmanager
def hearing_sigterm() -> Generator[None]:
    """SIGTERM, by which service managers and containers end what they run, does what Ctrl-C does."""

    def raised(_number: int, _frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, raised)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def exit_code(error: GhcmError) -> int:
    """2 for what is wrong with the program or the arguments (codes 1xx to 6xx), 1 for what went wrong while running."""
    return FAILED if isinstance(error, RunFailed) or error.code.removeprefix("GHCM-")[:1] in "789" else WRONG


def _report(error: GhcmError) -> None:
    if "--json" in sys.argv:
        diagnostics = error.diagnostics if isinstance(error, ProgramError) else ()
        errors = [_diagnostic_json(each) for each in diagnostics] or [_error_json(error)]
        terminal.json_line({"errors": errors})
    else:
        terminal.error(error)


def _error_json(error: GhcmError) -> dict[str, object]:
    document = error.document()
    position = cast("dict[str, object] | None", document.pop("place"))
    return document if position is None else {**document, **position}


def _diagnostic_json(diagnostic: Diagnostic) -> dict[str, object]:
    position: dict[str, object] = {}
    if diagnostic.span is not None:
        source, start = diagnostic.span.source, diagnostic.span.start
        line, column = source.line_column(start)
        end_line, end_column = source.line_column(max(diagnostic.span.end, start + 1))
        position = {"file": source.name, "line": line, "column": column, "end_line": end_line, "end_column": end_column}
    said = {
        "code": diagnostic.code,
        "message": diagnostic.message,
        "detail": diagnostic.detail,
        "hint": diagnostic.hint,
    }
    return {**said, **position}


def _of_system(error: OSError) -> GhcmError:
    what = f'"{error.filename}"' if error.filename else "the system"
    hint = _HINTS.get(error.errno or 0, "")
    return GhcmError(f"{what} refused: {error.strerror or error}", code="GHCM-790", hint=hint)


_PASSWORDS = re.compile(r"//[^/\s\"']*@")


def _of_bug(said: str) -> GhcmError:
    text = _PASSWORDS.sub("//", said)
    detail = f'It says "{text.strip().splitlines()[-1][:200]}"; all of it is in {_log(text)}.'
    hint = "report it with that file and, if you can, the program."
    return GhcmError("GHCM has a bug that stopped this command", code="GHCM-799", detail=detail, hint=hint)


def _words(arguments: Sequence[str]) -> Iterator[str]:
    """The command and the names of its options, without a value."""
    for number, word in enumerate(arguments):
        yield word.partition("=")[0] if word.startswith("-") else word if number == 0 and word.isalpha() else "..."


def _log(text: str) -> Path:
    """Write what a bug report needs, and nothing that anybody has passed as an argument, to a file of its own for this
    user alone; the folder of temporary files takes what the state cannot.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S")
    header = f"ghcm {ghcm.__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    header += f"command: {' '.join(_words(sys.argv[1:]))}\n\n"
    state = Path(os.environ.get("GHCM_STATE", ".ghcm"))
    for parent in (state / "logs", Path(tempfile.gettempdir())):
        try:
            if parent.parent == state:
                make_private(state)
                parent.mkdir(exist_ok=True)
            path = parent / f"ghcm-error-{stamp}-{os.getpid()}.log"
            with open(path, "x", encoding="utf-8", opener=private_opener) as file:
                file.write(header + text)
        except (OSError, GhcmError):
            continue
        return path
    return Path("(nowhere: no folder could be written)")
