"""Advice in the words of a front end: hints are written for the text language and respelt for Python."""

from __future__ import annotations

import re

_RESPELT = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r'"_ => \.\.\."', '"otherwise=..."'),
        (r"\((\w+), (\w+)\) => ", r"lambda \1, \2: "),
        (r"(\w+) => ", r"lambda \1: "),
        (r"([\w.]+) is not null", r"\1.is_not_null()"),
        (r"([\w.]+) is null", r"\1.is_null()"),
        (r'"(\w+) \?\? (\w+)"', r'"coalesce(\1, \2)"'),
        (r"\?\?", "coalesce(...)"),
        (r"(l\.\w+ == r\.\w+) and (l\.\w+ < r\.\w+)", r"(\1) & (\2)"),
        (r"\.as\(", ".as_("),
        (r"(\w+) \{ \.\.\. \}", r"\1(...)"),
        (r"\{ \.\.\. \}", "Record(...)"),
        (r"\b(format|mode|on) = (json|csv|append|upsert|replace|window_close|completion)", r'\1="\2"'),
        (r"\b(at_end|disorder|every|key|n|on|order|record|rows|when) = ", r"\1="),
        (r"([=(])(\d+(?:us|ms|s|m|h|d))\b", r'\1"\2"'),
        (r"@associative @commutative", "associative(commutative(lambda a, b: ...))"),
        (r'"responsive (stream|batch) \w+"', r'"@program.\1(responsive=True)"'),
        (r'declared "responsive"', 'declared "responsive=True"'),
        (r"sink (\w+) = (\w*|\.\.\.)\((.*?)\)", r"\1 = program.sink(\2(\3))"),
        (r'behind a colon: python\("module:function"\) : Type', 'as its result: python("module:function", Type)'),
        (r"\b(count|sum|mean|min|max)\((\w+)\)", r'agg.\1("\2")'),
        (r"\b(?<!agg\.)(count|sum|mean|min|max)\(", r"agg.\1("),
    )
)


def in_python(hint: str) -> str:
    """The hint as a Python program would follow it.

    >>> in_python('"x ?? other" replaces null; behind filter(f => f.x is not null) it is known to be there.')
    '"coalesce(x, other)" replaces null; behind filter(lambda f: f.x.is_not_null()) it is known to be there.'
    >>> in_python("For example event_time(..., disorder = 10s).")
    'For example event_time(..., disorder="10s").'
    """
    for pattern, replacement in _RESPELT:
        hint = pattern.sub(replacement, hint)
    return hint
