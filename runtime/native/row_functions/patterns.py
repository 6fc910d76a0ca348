"""Regular expressions in generated row code."""

from __future__ import annotations

import re
from functools import lru_cache

from ghcm.functions import Failure
from ghcm.runtime.native.rows import RecordFailure

__all__ = ["pattern"]


@lru_cache(maxsize=256)
def pattern(text: str) -> re.Pattern[str]:
    """The compiled form of a pattern that is a parameter of the unit."""
    try:
        return re.compile(text, re.ASCII)
    except re.error as error:
        raise RecordFailure(Failure.BAD_PATTERN, f'"{text[:100]}": {error}') from error
