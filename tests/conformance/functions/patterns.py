"""Cases of regular expressions."""

from __future__ import annotations

from ghcm.signatures import STRING
from tests.conformance.functions.case import Case, case

__all__ = ["CASES"]

CASES: tuple[Case, ...] = (
    *(case("matches", STRING, STRING, constants=(pattern,)) for pattern in ("b", "^[0-9]+$", "(?:a|X)", "[^a-z]", "^$", "a$")),
    *(case("extract_all", STRING, STRING, constants=(pattern,)) for pattern in ("[A-Za-z]", "[0-9]+", "X", "(?:aX)+")),
)  # fmt: skip
