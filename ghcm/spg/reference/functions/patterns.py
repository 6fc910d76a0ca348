"""The meanings of the functions of regular expressions."""

from __future__ import annotations

import re

from ghcm.functions import Failure
from ghcm.spg.reference.functions.meaning import Meaning, Types, fail


def _pattern(text: str) -> re.Pattern[str]:
    """The pattern as Python reads it: `$` outside of a class is the end of the text."""
    tokens = re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", text, re.DOTALL)
    try:
        return re.compile("".join(r"\Z" if token == "$" else token for token in tokens), re.ASCII)
    except re.error as error:
        fail(Failure.BAD_PATTERN, f"{text!r} is no pattern: {error}")


def _extract(_: Types, text: str, pattern: str, group: int = 0) -> str | None:
    found = _pattern(pattern).search(text)
    return (found.group(group) or "") if found is not None else None


def _split(_: Types, text: str, pattern: str) -> list[str]:
    parts, end = list[str](), 0
    for found in _pattern(pattern).finditer(text):
        parts.append(text[end : found.start()])
        end = found.end()
    return [*parts, text[end:]]


MEANINGS: dict[str, Meaning] = {
    "matches": lambda _, a, pattern: _pattern(pattern).search(a) is not None,
    "full_match": lambda _, a, pattern: _pattern(pattern).fullmatch(a) is not None,
    "extract": _extract,
    "replace_pattern": lambda _, a, pattern, new: _pattern(pattern).sub(lambda _: new, a),
    "split_pattern": _split,
    "count_matches": lambda _, a, pattern: sum(1 for _ in _pattern(pattern).finditer(a)),
    "extract_all": lambda _, a, pattern: [found.group(0) for found in _pattern(pattern).finditer(a)],
}
