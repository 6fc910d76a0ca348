"""Lowering: from the syntax tree of either front end to the SPG, through the one check that every program passes."""

from ghcm.lowering.context import Note, Notes
from ghcm.lowering.program import look, lower, lower_condition

__all__ = ["Note", "Notes", "look", "lower", "lower_condition"]
