"""Bytes and their texts in generated row code."""

from __future__ import annotations

import re
from base64 import b64decode

from ghcm.functions import Failure
from ghcm.runtime.native.rows import RecordFailure

_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?")


def _refuse(value: object, what: str) -> RecordFailure:
    return RecordFailure(Failure.BAD_CAST, f"{value!r:.100} is no {what}")


def from_bytes(data: bytes) -> str:
    """The string whose UTF-8 it is."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refuse(data, "UTF-8") from error


def from_hex(text: str) -> bytes:
    """The bytes that pairs of hexadecimal digits say."""
    if not _HEX.fullmatch(text):
        raise _refuse(text, "hexadecimal text")
    return bytes.fromhex(text)


def from_base64(text: str) -> bytes:
    """The bytes of base64 that has no other spelling."""
    if not _BASE64.fullmatch(text):
        raise _refuse(text, "base64")
    return b64decode(text)
