"""Cases of bytes and their texts."""

from __future__ import annotations

from ghcm.signatures import BYTES, STRING
from tests.conformance.functions.case import Case, case

__all__ = ["CASES"]

DATA = (b"", b"\x00", b"a", b"ab", b"abc", b"\xff\xfe", b"\xc3\xa9", b"\xf0\x9f\x98\x80", b"x" * 100, None)
NO_UTF8 = (
    b"\x80",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xed\xbf\xbf",
    b"\xf4\x90\x80\x80",
    b"\xf8\x88\x80\x80\x80",
    b"\xe2\x82",
    b"a\xffb",
    b"\xee\x80\x80",
    b"\xf4\x8f\xbf\xbf",
    b"\xed\x9f\xbf",
)
HEX = ("", "00", "fF", "0", "abc", "0x", "zz", "00 ", "٠٠", "deadBEEF", "00\n", "é", None)
BASE64 = (
    "",
    "QQ==",
    "QUI=",
    "QUJD",
    "QR==",
    "QUJ=",
    "QQ=",
    "QQ",
    "Q",
    "QUJD\n",
    "QU JD",
    "_-8=",
    "+/8=",
    "====",
    "=",
    "QQ==QQ==",
    "é",
    "A" * 100,
    None,
)
URLS = (
    "",
    "a+b",
    "a%20b",
    "%C3%BC%f0%9f%98%80",
    "100%",
    "%",
    "%4",
    "%4g",
    "%ff",
    "%c3",
    "%C3%28",
    "%ed%a0%80",
    "%00",
    "ü%C3%BC",
    "%25%2B+",
    "%\n41",
    None,
)

CASES: tuple[Case, ...] = (
    case("to_bytes", STRING),
    case("from_bytes", BYTES, values=((*DATA, *NO_UTF8),)),
    *(case(name, BYTES, values=((*DATA, *NO_UTF8),)) for name in ("to_hex", "to_base64")),
    *(case(name, STRING) for name in ("to_hex", "to_base64", "from_hex", "from_base64")),
    *(case(name, STRING) for name in ("url_encode", "url_decode")), case("url_decode", STRING, values=(URLS,)),
    case("from_hex", STRING, values=(HEX,)), case("from_base64", STRING, values=(BASE64,)),
)  # fmt: skip
