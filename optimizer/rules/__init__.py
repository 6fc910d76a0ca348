"""The laws by which operators are fewer or cheaper, a module for each kind."""

from ghcm.optimizer.rules.groups import GROUP_RULES
from ghcm.optimizer.rules.moving import MOVING_RULES
from ghcm.optimizer.rules.nothing import NOTHING_RULES
from ghcm.optimizer.rules.rows import ROW_RULES
from ghcm.optimizer.rules.rule import (
    Declined,
    Dropped,
    Merged,
    Outcome,
    Replaced,
    Rewritten,
    Rule,
    Without,
    possible,
    simplified,
)

RULES = (*ROW_RULES, *NOTHING_RULES, *GROUP_RULES, *MOVING_RULES)
"""Tried in this order at each task, for each of its inputs."""

__all__ = [
    "RULES",
    "Declined",
    "Dropped",
    "Merged",
    "Outcome",
    "Replaced",
    "Rewritten",
    "Rule",
    "Without",
    "possible",
    "simplified",
]
