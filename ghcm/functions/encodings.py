"""Bytes and their texts in the table of functions: UTF-8, hexadecimal, base64."""

from __future__ import annotations

from ghcm.functions.table import Failure, Function
from ghcm.signatures import BYTES, STRING, first, fixed
from ghcm.support import Never

_BYTES_OR_TEXT = first(fixed(STRING, BYTES), fixed(STRING, STRING))

TABLE = (
    Function("to_bytes", "to_bytes(s)", fixed(BYTES, STRING), "its UTF-8"),
    Function(
        "from_bytes",
        "from_bytes(b)",
        fixed(STRING, BYTES),
        "the string whose UTF-8 it is; fails where it is no UTF-8",
        failures=(Failure.BAD_CAST,),
        columnar=Never("Polars gives up the whole column at bytes that are no UTF-8"),
    ),
    Function(
        "to_hex",
        "to_hex(b)",
        _BYTES_OR_TEXT,
        "two lower-case hexadecimal digits for each byte; of a string, for its UTF-8",
    ),
    Function(
        "from_hex",
        "from_hex(s)",
        fixed(BYTES, STRING),
        "the bytes that pairs of hexadecimal digits of either case say",
        failures=(Failure.BAD_CAST,),
    ),
    Function(
        "to_base64", "to_base64(b)", _BYTES_OR_TEXT, "base64 with padding, on one line; of a string, of its UTF-8"
    ),
    Function(
        "from_base64",
        "from_base64(s)",
        fixed(BYTES, STRING),
        "the bytes of base64 as `to_base64` writes it; fails for anything else",
        failures=(Failure.BAD_CAST,),
    ),
)
