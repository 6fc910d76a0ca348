"""Cases of hashes."""

from __future__ import annotations

from ghcm.signatures import BYTES, STRING
from tests.conformance.functions.case import Case, case

__all__ = ["CASES"]

LONG = ("", "a" * 63, "a" * 64, "é" * 1000, "123456789", None)

CASES: tuple[Case, ...] = tuple(
    each
    for name in ("md5", "sha1", "sha256", "sha512", "crc32")
    for each in (case(name, STRING), case(name, BYTES), case(name, STRING, values=(LONG,)))
)
