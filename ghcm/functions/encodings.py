"""Bytes and their texts in the table of functions: UTF-8, hexadecimal, base64."""

from __future__ import annotations

from ghcm.functions.table import Choice, Example, Failure, Function
from ghcm.signatures import BYTES, STRING, first, fixed
from ghcm.support import Never
from ghcm.types import Bytes, String

_BYTES_OR_TEXT = first(fixed(STRING, BYTES), fixed(STRING, STRING))


def utf8(text: str) -> dict[Choice, str]:
    """The Python of bytes, and of a string by its UTF-8."""
    return {String: text.replace("{0}", "{0}.encode()"), Bytes: text}


def _encoded(form: str) -> dict[Choice, str]:
    return {String: f'{{0}}.str.encode("{form}")', Bytes: f'{{0}}.bin.encode("{form}")'}


# fmt: off
TABLE = (
    Function(
        "to_bytes", "(s)", (STRING,), BYTES, "its UTF-8",
        examples=(Example('to_hex(to_bytes("ß"))', '"c39f"'),),
        python="{0}.encode()", polars="{0}.cast(pl.Binary)",
        spark="cast({0} AS binary)",
    ),
    Function(
        "from_bytes", "(b)", (BYTES,), STRING, "the string whose UTF-8 it is; fails where it is no UTF-8",
        failures=(Failure.BAD_CAST,),
        examples=(
            Example('from_bytes(from_hex("c39f"))', '"ß"'),
            Example('from_bytes(from_hex("ff"))', fails=Failure.BAD_CAST),
        ),
        python="row_texts.from_bytes({0})",
        polars=Never("Polars gives up the whole column at bytes that are no UTF-8"),
        spark="CASE WHEN is_valid_utf8(cast({0} AS string)) THEN cast({0} AS string) END",
        spark_fails=(("NOT is_valid_utf8(cast({0} AS string))", Failure.BAD_CAST, "the bytes are no UTF-8"),),
    ),
    Function(
        "to_hex", "(b)", _BYTES_OR_TEXT,
        says="two lower-case hexadecimal digits for each byte; of a string, for its UTF-8",
        examples=(Example('to_hex("hi")', '"6869"'),),
        python=utf8("{0}.hex()"), polars=_encoded("hex"),
        spark="lower(hex({0}))",
    ),
    Function(
        "from_hex", "(s)", (STRING,), BYTES, "the bytes that pairs of hexadecimal digits of either case say",
        failures=(Failure.BAD_CAST,),
        examples=(
            Example('from_bytes(from_hex("6869"))', '"hi"'), Example('from_hex("6")', fails=Failure.BAD_CAST),
        ),
        python="row_texts.from_hex({0})",
        polars='{0}.str.decode("hex", strict=False)', polars_fails="column_texts.from_hex_fails({0})",
    ),
    Function(
        "to_base64", "(b)", _BYTES_OR_TEXT, says="base64 with padding, on one line; of a string, of its UTF-8",
        examples=(Example('to_base64("hi")', '"aGk="'),),
        python=utf8("base64.b64encode({0}).decode()"), polars=_encoded("base64"),
        spark=r"replace(base64(cast({0} AS binary)), '\u000d\u000a', '')",
    ),
    Function(
        "from_base64", "(s)", (STRING,), BYTES, "the bytes of base64 as `to_base64` writes it; fails for anything else",
        failures=(Failure.BAD_CAST,),
        examples=(
            Example('from_bytes(from_base64("aGk="))', '"hi"'), Example('from_base64("aGk")', fails=Failure.BAD_CAST),
        ),
        python="row_texts.from_base64({0})",
        polars='{0}.str.decode("base64", strict=False)', polars_fails="column_texts.from_base64_fails({0})",
    ),
)
