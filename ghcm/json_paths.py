"""Paths into JSON texts: `$.name`, `$["any name"]`, `$[0]`, and these behind each other."""

from __future__ import annotations

import json
import re
from typing import TypeAlias

Step: TypeAlias = str | int
"""The name of a member of an object, or the place of an item of an array, from 0."""

_STEP = re.compile(
    r"""\.(?P<name>[A-Za-z_][A-Za-z0-9_]*) | \[(?P<place>0|[1-9][0-9]{0,8})\]
    | \[(?P<quoted>"(?:[^"\\]|\\.)*")\] | \['(?P<single>[^'"\\]*)'\]""",
    re.VERBOSE | re.DOTALL,
)


def parse_path(text: str) -> tuple[Step, ...] | None:
    r"""The steps of a path; None for what is none.

    >>> parse_path('$.a["b c"][0]'), parse_path("$['x']"), parse_path("a.b")
    (('a', 'b c', 0), ('x',), None)
    """
    if not text.startswith("$"):
        return None
    steps: list[Step] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            return None
        try:
            steps.append(_step(found))
        except ValueError:
            return None
        at = found.end()
    return tuple(steps)


def _step(found: re.Match[str]) -> Step:
    if found["place"] is not None:
        return int(found["place"])
    if found["quoted"] is not None:
        return str(json.loads(found["quoted"]))
    return str(found["name"] if found["name"] is not None else found["single"])
