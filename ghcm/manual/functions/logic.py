"""Examples of logic."""

from __future__ import annotations

from ghcm.manual.example import Example

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "and": (
        Example("1 < 2 and 2 < 3", "true"),
        Example("r.b and false", "false", given=("{ b: bool? }", "{ b: null }")),
    ),
    "or": (Example("1 > 2 or 2 > 3", "false"), Example("r.b or false", "null", given=("{ b: bool? }", "{ b: null }"))),
    "not": (Example("not 1 > 2", "true"), Example("not r.b", "null", given=("{ b: bool? }", "{ b: null }"))),
    "is_null": (Example("r.s is null", "true", given=("{ s: string? }", "{ s: null }")),),
    "is_not_null": (Example("r.s is not null", "false", given=("{ s: string? }", "{ s: null }")),),
    "coalesce": (Example('r.s ?? "none"', '"none"', given=("{ s: string? }", "{ s: null }")),),
    "known": (Example("if r.m is not null then r.m + 1 else 0", "8", given=("{ m: int? }", "{ m: 7 }")),),
}
