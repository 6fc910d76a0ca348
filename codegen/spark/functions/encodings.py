"""Bytes and their texts as SQL."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, plain
from ghcm.codegen.spark.library.sql import fails, matching, text, when
from ghcm.codegen.spark.sql import Checked, partial, pure

HEX = r"\A(?:[0-9a-fA-F]{2})*\z"


BASE64 = r"\A(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?\z"


def to_bytes(a: Checked) -> Checked:
    """The UTF-8 of a text."""
    return pure(f"cast({a} AS binary)", a)


def from_bytes(a: Checked) -> Checked:
    """The text whose UTF-8 it is."""
    valid = f"is_valid_utf8(cast({a} AS string))"
    wrong = fails(f"NOT {valid}", "bad_cast", "the bytes are no UTF-8")
    return partial(when(valid, f"cast({a} AS string)"), (a,), wrong)


def to_hex(a: Checked) -> Checked:
    """Hexadecimal digits for the bytes."""
    return pure(f"lower(hex({a}))", a)


def from_hex(a: Checked) -> Checked:
    """The bytes that hexadecimal digits say."""
    return spelt(a, HEX, f"unhex({a})")


def to_base64(a: Checked) -> Checked:
    """Base64 on one line."""
    lines = f"base64(cast({a} AS binary))"
    return pure(f"replace({lines}, {text(chr(13) + chr(10))}, '')", a)


def from_base64(a: Checked) -> Checked:
    """The bytes of base64."""
    return spelt(a, BASE64, f"unbase64({a})")


def spelt(a: Checked, form: str, value: str) -> Checked:
    """A value for texts of a form."""
    wrong = fails(f"NOT {matching(a.value, form)}", "bad_cast", "the text has not the form")
    return partial(when(matching(a.value, form), value), (a,), wrong)


EMITTERS: dict[str, Emit] = {
    "to_bytes": plain(to_bytes),
    "from_bytes": plain(from_bytes),
    "to_hex": plain(to_hex),
    "from_hex": plain(from_hex),
    "to_base64": plain(to_base64),
    "from_base64": plain(from_base64),
}
