"""The language: two front ends, text and Python, that build one syntax tree."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ghcm.language.loading import load
    from ghcm.language.parser import parse
    from ghcm.language.printing.printer import format_text, print_program

__all__ = ["format_text", "load", "parse", "print_program"]

_HOMES = {"format_text": "printing.printer", "load": "loading", "parse": "parser", "print_program": "printing.printer"}


def __getattr__(name: str) -> object:
    """Import a part when it is first asked for: a Python program needs no parser."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
