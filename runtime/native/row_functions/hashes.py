"""Hashes in generated row code: of bytes, as lower-case hexadecimal digits or a number."""

from __future__ import annotations

import hashlib
import zlib


def md5(data: bytes) -> str:
    """MD5."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def sha1(data: bytes) -> str:
    """SHA-1."""
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def sha256(data: bytes) -> str:
    """SHA-256."""
    return hashlib.sha256(data).hexdigest()


def sha512(data: bytes) -> str:
    """SHA-512."""
    return hashlib.sha512(data).hexdigest()


def crc32(data: bytes) -> int:
    """CRC-32."""
    return zlib.crc32(data)
