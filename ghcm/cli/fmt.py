"""`ghcm fmt`: print programs in their canonical text."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.failure import FAILED
from ghcm.cli.options import Json
from ghcm.errors import GhcmError

__all__ = ["command"]

Programs = Annotated[list[Path], typer.Argument(metavar="PROGRAM", help='.istream files; "-" reads standard input.')]
Check = Annotated[bool, typer.Option("--check", help="Change nothing; end with 1 if a file would change.")]


def command(programs: Programs, check: Check = False, json: Json = False) -> None:
    """Rewrite programs in canonical text."""
    changed = [path for path in programs if _format(path, check)]
    if json:
        terminal.json_line({"changed": [str(path) for path in changed]})
    elif check:
        for path in changed:
            terminal.say(f"{path}: would be rewritten")
    else:
        for path in changed:
            terminal.note(f"{path}: rewritten")
    if check and changed:
        raise typer.Exit(FAILED)


def _format(path: Path, check: bool) -> bool:
    from ghcm.language import format_text

    if str(path) == "-":
        text = sys.stdin.read()
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
    text = path.read_text(encoding="utf-8")
    formatted = format_text(text, str(path))
    if formatted != text and not check:
        # Whoever is interrupted here finds the old text or the new one.
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        beside.write_text(formatted, encoding="utf-8")
        beside.chmod(path.stat().st_mode)
        beside.replace(path)
    return formatted != text
