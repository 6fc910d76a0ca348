"""The examples of operators, one module for each place that an operator has in a pipeline."""

from __future__ import annotations

from ghcm.manual.example import Pipeline
from ghcm.manual.operators import ends, sources, transformations
from ghcm.operators import Role

__all__ = ["EXAMPLES"]

EXAMPLES: dict[Role, dict[str, tuple[Pipeline, ...]]] = {
    Role.SOURCE: sources.EXAMPLES,
    Role.TRANSFORM: transformations.EXAMPLES,
    Role.END: ends.EXAMPLES,
}
"""By role and name."""
