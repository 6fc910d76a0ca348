"""Lowering: from the syntax tree of either front end to the SPG, through the one check that every program passes."""

from ghcm.lowering.program import lower

__all__ = ["lower"]
