"""Strings in generated row code."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.runtime.native.rows import RecordFailure

__all__ = ["replace", "split", "substring"]


def replace(text: str, old: str, new: str) -> str:
    """The text with every `old` replaced; an empty one changes nothing."""
    return text.replace(old, new) if old else text


def substring(text: str, start: int, count: int) -> str:
    """Up to `count` code points from `start`."""
    if start < 0 or count < 0:
        raise RecordFailure(Failure.OUT_OF_RANGE, f"substring from {start}, {count} long")
    return text[start : start + count]


def split(text: str, separator: str) -> list[str]:
    """The parts between separators."""
    if not separator:
        raise RecordFailure(Failure.BAD_PATTERN, "split by an empty separator")
    return text.split(separator)
