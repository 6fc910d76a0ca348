"""The meanings of the hashes."""

from __future__ import annotations

import hashlib
import zlib

from ghcm.spg.reference.functions.encodings import utf8
from ghcm.spg.reference.functions.meaning import Meaning, Types


def _digest(algorithm: str) -> Meaning:
    def meaning(_: Types, value: str | bytes) -> str:
        return hashlib.new(algorithm, utf8(value), usedforsecurity=False).hexdigest()

    return meaning


MEANINGS: dict[str, Meaning] = {
    **{name: _digest(name) for name in ("md5", "sha1", "sha256", "sha512")},
    "crc32": lambda _, a: zlib.crc32(utf8(a)),
}
