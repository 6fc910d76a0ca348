"""Regular expressions in generated row code, which compiles them itself."""

from __future__ import annotations

import re


def group(found: re.Match[str] | None, number: int) -> str | None:
    """What a group of a match took, empty where it took no part; None where there is no match."""
    return None if found is None else found.group(number) or ""


def replace(pattern: re.Pattern[str], text: str, replacement: str) -> str:
    """The text with every match replaced; nothing in the replacement has a meaning of its own."""
    return pattern.sub(lambda _: replacement, text)
