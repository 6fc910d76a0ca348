"""The meanings of the functions of bytes and their texts."""

from __future__ import annotations

import base64
import re

from ghcm.functions import Failure
from ghcm.spg.reference.functions.meaning import Meaning, Types, fail


def utf8(value: str | bytes) -> bytes:
    """Bytes as they are, a string as its UTF-8."""
    return value.encode("utf-8") if isinstance(value, str) else value


def _from_bytes(_: Types, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        fail(Failure.BAD_CAST, f"{data!r} is no UTF-8")


def _from_hex(_: Types, text: str) -> bytes:
    if not re.fullmatch(r"([0-9a-fA-F][0-9a-fA-F])*", text):
        fail(Failure.BAD_CAST, f"{text!r} is no hexadecimal text")
    return bytes(int(text[index : index + 2], 16) for index in range(0, len(text), 2))


def _to_base64(_: Types, value: str | bytes) -> str:
    return base64.b64encode(utf8(value)).decode("ascii")


def _from_base64(types: Types, text: str) -> bytes:
    """What is not as it is written here again is refused: other alphabets, lines, left-over bits."""
    try:
        data = base64.b64decode(text.encode("ascii"))
    except ValueError:
        fail(Failure.BAD_CAST, f"{text!r} is no base64")
    return data if _to_base64(types, data) == text else fail(Failure.BAD_CAST, f"{text!r} is no base64")


MEANINGS: dict[str, Meaning] = {
    "to_bytes": lambda _, a: a.encode("utf-8"),
    "from_bytes": _from_bytes,
    "to_hex": lambda _, a: "".join(f"{byte:02x}" for byte in utf8(a)),
    "from_hex": _from_hex,
    "to_base64": _to_base64,
    "from_base64": _from_base64,
}
