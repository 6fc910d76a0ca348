"""Examples of encodings."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.manual.example import Example

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "to_bytes": (Example('to_hex(to_bytes("ß"))', '"c39f"'),),
    "from_bytes": (
        Example('from_bytes(from_hex("c39f"))', '"ß"'),
        Example('from_bytes(from_hex("ff"))', fails=Failure.BAD_CAST),
    ),
    "to_hex": (Example('to_hex("hi")', '"6869"'),),
    "from_hex": (Example('from_bytes(from_hex("6869"))', '"hi"'), Example('from_hex("6")', fails=Failure.BAD_CAST)),
    "to_base64": (Example('to_base64("hi")', '"aGk="'),),
    "from_base64": (
        Example('from_bytes(from_base64("aGk="))', '"hi"'),
        Example('from_base64("aGk")', fails=Failure.BAD_CAST),
    ),
}
