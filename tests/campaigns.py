"""How long the campaigns of random examples are: short in every run of the tests, longer by command."""

import os

__all__ = ["times"]


def times(count: int) -> int:
    """So many examples, seeds or kills; `GHCM_CAMPAIGN=10` makes it ten times as many."""
    return count * int(os.environ.get("GHCM_CAMPAIGN", "1"))
