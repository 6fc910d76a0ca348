"""`ghcm fmt`: print programs in their canonical text."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.failure import FAILED, INTERRUPTED, guarded
from ghcm.cli.options import Json
from ghcm.errors import GhcmError

Programs = Annotated[list[Path], typer.Argument(metavar="PROGRAM", help='.istream files; "-" reads standard input.')]
Check = Annotated[bool, typer.Option("--check", help="Change nothing; end with 1 if a file would change.")]


def command(programs: Programs, check: Check = False, json: Json = False) -> None:
    """Rewrite programs in canonical text.

    Goes on where one cannot be; ends with 2 if any is wrong, with 1 if one could not be written or, with --check,
    would change.
    """
    changed: list[Path] = []
    worst = 0
    for path in programs:
        try:
            guarded(_note)(path, check, changed)
        except typer.Exit as end:
            if end.exit_code == INTERRUPTED:
                raise
            worst = max(worst, end.exit_code)
    _print(changed, check, json)
    if worst or (check and changed):
        raise typer.Exit(worst or FAILED)


def _print(changed: list[Path], check: bool, json: bool) -> None:
    if json:
        terminal.json_line({"changed": [str(path) for path in changed]})
    elif check:
        for path in changed:
            terminal.say(f"{path}: would be rewritten")
    else:
        for path in changed:
            terminal.note(f"{path}: rewritten")


def _note(path: Path, check: bool, changed: list[Path]) -> None:
    if _format(path, check):
        changed.append(path)


def _format(path: Path, check: bool) -> bool:
    from ghcm.driver import readable
    from ghcm.language import format_text
    from ghcm.language.loading import decode_program, read_program

    if str(path) == "-":
        text = decode_program(sys.stdin.buffer.read(), "<stdin>")
        formatted = format_text(text, "<stdin>")
        if not check:
            sys.stdout.write(formatted)
        return check and formatted != text
    if path.suffix != ".istream":
        raise GhcmError(
            f'cannot format "{path}": only .istream files have a canonical text',
            code="GHCM-601",
            hint="a Python program is formatted by the tools of Python.",
        )
    readable(path)
    text = read_program(path)
    formatted = format_text(text, str(path))
    if formatted != text and not check:
        _rewrite(path.resolve(), formatted)
    return formatted != text


def _rewrite(path: Path, text: str) -> None:
    """Put the text in the place of the file, which keeps its mode and owner; whoever is interrupted leaves the old text
    or the new one. `path` leads through no link, so that links to the file stay what they are.
    """
    before = path.stat()
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from None
    beside = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        with suppress(PermissionError):  # only root may give a file away
            os.chown(beside, before.st_uid, before.st_gid)
        beside.chmod(stat.S_IMODE(before.st_mode))
        beside.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        beside.unlink(missing_ok=True)


def _unwritable(path: Path, error: OSError) -> GhcmError:
    return GhcmError(
        f'cannot rewrite "{path}": {(error.strerror or str(error)).lower()}',
        code="GHCM-790",
        detail="The file is as it was.",
        hint="check that its folder can be written and has room.",
    )
