"""Hashes in the table of functions: of bytes, or of the UTF-8 of a string."""

from __future__ import annotations

from ghcm.functions.table import Function
from ghcm.signatures import BYTES, INT, STRING, first, fixed
from ghcm.support import Never

_DIGEST = first(fixed(STRING, BYTES), fixed(STRING, STRING))
_NEVER = Never("Polars has hashes of its own only")

TABLE = (
    Function("md5", "md5(b)", _DIGEST, "its MD5 in lower-case hexadecimal digits", columnar=_NEVER),
    Function("sha1", "sha1(b)", _DIGEST, "its SHA-1 in lower-case hexadecimal digits", columnar=_NEVER),
    Function("sha256", "sha256(b)", _DIGEST, "its SHA-256 in lower-case hexadecimal digits", columnar=_NEVER),
    Function("sha512", "sha512(b)", _DIGEST, "its SHA-512 in lower-case hexadecimal digits", columnar=_NEVER),
    Function(
        "crc32",
        "crc32(b)",
        first(fixed(INT, BYTES), fixed(INT, STRING)),
        "its CRC-32 as zlib, gzip and Ethernet have it",
        columnar=_NEVER,
    ),
)
