"""The meanings of the functions of regular expressions."""

from __future__ import annotations

import re

from ghcm.functions import Failure
from ghcm.spg.reference.functions.meaning import Meaning, fail

__all__ = ["MEANINGS"]


def _pattern(text: str) -> re.Pattern[str]:
    """The pattern as Python reads it: `$` outside of a class is the end of the text."""
    tokens = re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", text, re.DOTALL)
    try:
        return re.compile("".join(r"\Z" if token == "$" else token for token in tokens), re.ASCII)
    except re.error as error:
        fail(Failure.BAD_PATTERN, f"{text!r} is no pattern: {error}")


MEANINGS: dict[str, Meaning] = {
    "matches": lambda _, a, pattern: _pattern(pattern).search(a) is not None,
    "extract_all": lambda _, a, pattern: [found.group(0) for found in _pattern(pattern).finditer(a)],
}
