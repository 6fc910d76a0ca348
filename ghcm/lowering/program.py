"""The whole program: declarations first, then units in the order in which they need each other, then what they agree on."""

from __future__ import annotations

from ghcm.errors import Diagnostics
from ghcm.language import ast
from ghcm.spg.graph import Program

__all__ = ["lower"]


def lower(program: ast.Program) -> Program:
    """The SPG of a program; ProgramError with all its mistakes at once."""
    Diagnostics().check()
    return Program(program.name.text, (), (), ())
