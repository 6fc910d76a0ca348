"""Cases of regular expressions."""

from __future__ import annotations

from ghcm.signatures import INT, STRING
from tests.conformance.functions.case import Case, case

__all__ = ["CASES"]

CASES: tuple[Case, ...] = (
    *(case("matches", STRING, STRING, constants=(pattern,)) for pattern in ("b", "^[0-9]+$", "(?:a|X)", "[^a-z]", "^$", "a$")),
    *(case("extract_all", STRING, STRING, constants=(pattern,)) for pattern in ("[A-Za-z]", "[0-9]+", "X", "(?:aX)+")),
    *(case("full_match", STRING, STRING, constants=(pattern,)) for pattern in ("[a-z]+", "a|ab", "^a$|b", "[^\\n]*", "(?:a|X|b)+?")),
    *(case("extract", STRING, STRING, constants=(pattern,)) for pattern in ("[0-9]+", "^a", "x*", "[^a]$")),
    *(case("extract", STRING, STRING, INT, constants=(pattern, group)) for pattern, group in (("(a)(b|X)", 2), ("(a)|(b)", 2), ("([A-Z])*b", 1), ("([0-9]+)[.]([0-9])", 0))),
    *(case(name, STRING, STRING, constants=(pattern,)) for name in ("split_pattern", "count_matches") for pattern in ("[A-Za-z]", "X", "[0-9]+", "😀", "(?:a|b)b?")),
    *(case("replace_pattern", STRING, STRING, STRING, constants=(pattern, new)) for pattern, new in (("[a-z]", ""), ("X", "$1"), ("b", "\\1$0\\"), ("[0-9]", "${x}😀"))),
)  # fmt: skip
