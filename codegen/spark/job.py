"""Puts a job together: the tasks of a unit as functions, the run that connects them, and the helpers they call."""

from __future__ import annotations

from ghcm.spg.graph import Program, Unit

__all__ = ["generate"]


def generate(program: Program, unit: Unit) -> str:
    """The text of the Spark job of a batch unit. GhcmError where the unit does what Spark cannot do yet."""
    return f'"""Spark job of the unit "{unit.name}" of the program "{program.name}"."""\n'
