"""The door of the language: a program's syntax tree from its file, whichever front end it is written for."""

from __future__ import annotations

from pathlib import Path

from ghcm.errors import GhcmError
from ghcm.language import ast
from ghcm.source import Source

__all__ = ["load"]


def load(path: Path | str) -> ast.Program:
    """The program in an `.istream` or `.py` file. Raises `ProgramError` with all mistakes seen without knowing types.

    A Python program is executed: its module is imported and its unit functions are called with tracers.
    """
    path = Path(path)
    if path.suffix == ".py":
        from ghcm.language.fluent.loading import load_python

        return load_python(path)
    from ghcm.language.parser import parse

    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        message = f'"{path}" is not UTF-8 text (byte {error.start})'
        raise GhcmError(message, code="GHCM-101", hint="save it as UTF-8.") from None
    except OSError as error:
        raise GhcmError(
            f'cannot read "{path}": {(error.strerror or "no reason given").lower()}', code="GHCM-602"
        ) from None
    return parse(Source(str(path), text))
