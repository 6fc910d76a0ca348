"""The colours of a program: the grammar's patterns, tried in order at each place as an editor does."""

import re
from typing import Any, cast

import pytest

from ghcm.editor.textmate import textmate


def coloured(line: str) -> list[tuple[str, str]]:
    """The parts of a line that have a colour, with the last words of their scope."""
    patterns = cast("list[dict[str, Any]]", textmate()["patterns"])
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(line):
        for pattern in patterns:
            text = pattern["match"] if "match" in pattern else rf"{pattern['begin']}(?:\\.|[^\\])*?(?:{pattern['end']})"
            match = re.compile(text).match(line, at)
            if match and match.group():
                for group, scope in pattern.get("captures", {"0": {"name": pattern.get("name", "")}}).items():
                    found.append((match.group(int(group)), scope["name"].removesuffix(".istream")))
                at = match.end()
                break
        else:
            at += 1
    return found


@pytest.mark.parametrize(
    ("line", "part", "scope"),
    [
        ("responsive batch rebuild(since: timestamp) {", "responsive batch", "storage.type"),
        ("responsive batch rebuild(since: timestamp) {", "rebuild", "entity.name.function"),
        ("responsive batch rebuild(since: timestamp) {", "timestamp", "support.type"),
        ("record Flow {", "Flow", "entity.name.function"),
        ("  x.filter(f => f.n > 10s) # late", "filter", "support.function.operator"),
        ("  x.filter(f => f.n > 10s) # late", "f", "variable.parameter"),
        ("  x.filter(f => f.n > 10s) # late", "10s", "constant.numeric"),
        ("  x.filter(f => f.n > 10s) # late", "# late", "comment.line.number-sign"),
        (r'  replace(t, "a\"b", r"\d")', r'"a\"b"', "string.quoted.double"),
        (r'  replace(t, "a\"b", r"\d")', "replace", "support.function"),
        ("  if a is not null then 1 else 0", "not", "keyword.control"),
        ("  if a is not null then 1 else 0", "null", "constant.language"),
        ("  Flow { n: 1 }", "Flow", "entity.name.type"),
        ("  x.window(sliding(1h, 10m)).reduce_by_key((a, b) => a + b)", "sliding", "support.function"),
        ("  x.window(sliding(1h, 10m)).reduce_by_key((a, b) => a + b)", "a", "variable.parameter"),
        ("  x.aggregate_by_key(q = quantile(value, 0.9))", "quantile", "support.function"),
        ("  x.filter(r => r.xs.any(y => try(y.to_int()) is null))", "any", "support.function"),
        ("  x.filter(r => r.xs.any(y => try(y.to_int()) is null))", "try", "support.function"),
        ('  src: string from "id.orig_h"', "from", "keyword.other"),
        ("  r with { n: 1 }", "with", "keyword.other"),
        ('sink lake = parquet("lake")', "parquet", "support.function"),
    ],
)
def test_parts_have_their_colours(line: str, part: str, scope: str) -> None:
    assert (part, scope) in coloured(line)
