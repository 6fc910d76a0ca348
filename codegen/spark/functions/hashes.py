"""Hashes of bytes, or of the UTF-8 of a text, as SQL."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, plain
from ghcm.codegen.spark.sql import Checked, pure


def md5(a: Checked) -> Checked:
    """MD5."""
    return pure(f"md5(cast({a} AS binary))", a)


def sha1(a: Checked) -> Checked:
    """SHA-1."""
    return pure(f"sha1(cast({a} AS binary))", a)


def sha256(a: Checked) -> Checked:
    """SHA-256."""
    return pure(f"sha2(cast({a} AS binary), 256)", a)


def sha512(a: Checked) -> Checked:
    """SHA-512."""
    return pure(f"sha2(cast({a} AS binary), 512)", a)


def crc32(a: Checked) -> Checked:
    """CRC-32."""
    return pure(f"crc32(cast({a} AS binary))", a)


EMITTERS: dict[str, Emit] = {
    "md5": plain(md5),
    "sha1": plain(sha1),
    "sha256": plain(sha256),
    "sha512": plain(sha512),
    "crc32": plain(crc32),
}
