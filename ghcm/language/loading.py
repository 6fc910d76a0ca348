"""The door of the language: a program's syntax tree from its file, whichever front end it is written for."""

from pathlib import Path

from ghcm.errors import Diagnostic, GhcmError, ProgramError
from ghcm.language import ast
from ghcm.source import Source, Span


def load(path: Path | str) -> ast.Program:
    """The program in an `.istream` or `.py` file. Raises `ProgramError` with all mistakes seen without knowing types.

    A Python program is executed: its module is imported and its unit functions are called with tracers.
    """
    path = Path(path)
    if path.suffix == ".py":
        from ghcm.language.fluent.program import load_python

        return load_python(path)
    from ghcm.language.parser import parse

    return parse(Source(str(path), read_program(path)))


def read_program(path: Path) -> str:
    """The text of a program without a byte order mark. GhcmError where it cannot be read, with the position at which it
    is not UTF-8.
    """
    try:
        return decode_program(path.read_bytes(), str(path))
    except OSError as error:
        raise GhcmError(
            f'cannot read "{path}": {(error.strerror or "no reason given").lower()}', code="GHCM-602"
        ) from None


def decode_program(data: bytes, name: str) -> str:
    """The text of a program that was read as bytes; `name` is what messages call it."""
    try:
        # As files that are opened for text: a line ends the same wherever it was written.
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        source = Source(name, data.decode("utf-8-sig", errors="replace"))
        at = len(error.object[: error.start].decode())  # what comes before it is text
        detail = f"The byte 0x{error.object[error.start]:02x} is part of no character."
        span = Span(source, at, at + 1)
        mistake = Diagnostic("GHCM-101", f'"{name}" is not UTF-8 text', span, detail, "save it as UTF-8")
        raise ProgramError([mistake]) from None
