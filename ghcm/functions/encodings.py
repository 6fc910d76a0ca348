"""Bytes and their texts in the table of functions: UTF-8, hexadecimal, base64; and hashes of bytes or of UTF-8."""

from ghcm.functions.table import Choice, Failure, Function
from ghcm.signatures import BYTES, INT, STRING, first, fixed
from ghcm.support import Never
from ghcm.types import Bytes, String

_BYTES_OR_TEXT = first(fixed(STRING, BYTES), fixed(STRING, STRING))


def utf8(text: str) -> dict[Choice, str]:
    """The Python of bytes, and of a string by its UTF-8."""
    return {String: text.replace("{0}", "{0}.encode()"), Bytes: text}


def _encoded(form: str) -> dict[Choice, str]:
    return {String: f'{{0}}.str.encode("{form}")', Bytes: f'{{0}}.bin.encode("{form}")'}


_NO_URLS = Never("Polars does not read or write the texts of URLs")
_PERCENT = "replace({0}, '+', ' ')"
_STRAY = "{0} RLIKE '%(?![0-9A-Fa-f][0-9A-Fa-f])'"
_UNESCAPED = (
    "cast(unhex(array_join(transform(regexp_extract_all(" + _PERCENT + ", '%[0-9A-Fa-f][0-9A-Fa-f]|[^%]+', 0), "
    "part -> CASE WHEN startswith(part, '%') THEN substring(part, 2) ELSE hex(part) END), '')) AS string)"
)
"""The bytes of a text of which some are written as hexadecimal digits, for Spark."""

# fmt: off
ENCODINGS = (
    Function(
        "to_bytes", "(s)", (STRING,), BYTES, "its UTF-8",
        shows={'to_hex(to_bytes("ß"))': '"c39f"'},
        python="{0}.encode()", polars="{0}.cast(pl.Binary)", spark="cast({0} AS binary)",
    ),
    Function(
        "from_bytes", "(b)", (BYTES,), STRING, "the string whose UTF-8 it is; fails where it is no UTF-8",
        failures=(Failure.BAD_CAST,),
        shows={'from_bytes(from_hex("c39f"))': '"ß"', 'from_bytes(from_hex("ff"))': Failure.BAD_CAST},
        python="row_texts.from_bytes({0})", polars=Never("Polars gives up the whole column at bytes that are no UTF-8"),
        spark="CASE WHEN is_valid_utf8(cast({0} AS string)) THEN cast({0} AS string) END",
        spark_fails=(("NOT is_valid_utf8(cast({0} AS string))", Failure.BAD_CAST, "the bytes are no UTF-8"),),
    ),
    Function(
        "to_hex", "(b)", _BYTES_OR_TEXT,
        says="two lower-case hexadecimal digits for each byte; of a string, for its UTF-8",
        shows={'to_hex("hi")': '"6869"'},
        python=utf8("{0}.hex()"), polars=_encoded("hex"), spark="lower(hex({0}))",
    ),
    Function(
        "from_hex", "(s)", (STRING,), BYTES, "the bytes that pairs of hexadecimal digits of either case say",
        failures=(Failure.BAD_CAST,), shows={'from_bytes(from_hex("6869"))': '"hi"', 'from_hex("6")': Failure.BAD_CAST},
        python="row_texts.from_hex({0})",
        polars='{0}.str.decode("hex", strict=False)', polars_fails="column_texts.from_hex_fails({0})",
    ),
    Function(
        "to_base64", "(b)", _BYTES_OR_TEXT, says="base64 with padding, on one line; of a string, of its UTF-8",
        shows={'to_base64("hi")': '"aGk="'},
        python=utf8("base64.b64encode({0}).decode()"), polars=_encoded("base64"),
        spark=r"replace(base64(cast({0} AS binary)), '\u000d\u000a', '')",
    ),
    Function(
        "from_base64", "(s)", (STRING,), BYTES, "the bytes of base64 as `to_base64` writes it; fails for anything else",
        failures=(Failure.BAD_CAST,),
        shows={'from_bytes(from_base64("aGk="))': '"hi"', 'from_base64("aGk")': Failure.BAD_CAST},
        python="row_texts.from_base64({0})",
        polars='{0}.str.decode("base64", strict=False)', polars_fails="column_texts.from_base64_fails({0})",
    ),
    Function(
        "url_encode", "(s)", (STRING,), STRING,
        "as a part of a URL: of its UTF-8 each byte but ASCII letters, digits and - . _ ~ as % and two hexadecimal "
        "digits (RFC 3986)",
        shows={'url_encode("a b/ü")': '"a%20b%2F%C3%BC"'},
        python="row_texts.url_encode({0})", polars=_NO_URLS,
        spark="replace(replace(replace(url_encode({0}), '+', '%20'), '*', '%2A'), '%7E', '~')",
    ),
    Function(
        "url_decode", "(s)", (STRING,), STRING,
        "what a part of a URL stands for: + is a space, and % with two hexadecimal digits a byte of its UTF-8; fails "
        "for any other % and where the bytes are no UTF-8. url_decode(s.replace(\"+\", \"%2B\")) keeps each +",
        failures=(Failure.BAD_CAST,),
        shows={'url_decode("q=a+b%C3%BC")': '"q=a bü"', 'url_decode("100%")': Failure.BAD_CAST},
        python="row_texts.url_decode({0})", polars=_NO_URLS,
        spark=f"CASE WHEN NOT ({_STRAY}) AND is_valid_utf8({_UNESCAPED}) THEN {_UNESCAPED} END",
        spark_fails=(
            (f"({_STRAY}) OR NOT is_valid_utf8({_UNESCAPED})", Failure.BAD_CAST, "it is no part of a URL"),
        ),
    ),
)


_NEVER = Never("Polars has hashes of its own only")


def _digest(name: str, title: str, example: str, spark: str, options: str = "") -> Function:
    """A hash of `hashlib` in hexadecimal digits; `example` is that of "hi"."""
    return Function(
        name, "(b)", _BYTES_OR_TEXT, says=f"its {title} in lower-case hexadecimal digits",
        shows={f'{name}("hi")': f'"{example}"'},
        python=utf8(f"hashlib.{name}({{0}}{options}).hexdigest()"), polars=_NEVER, spark=spark,
    )


_UNSAFE = ", usedforsecurity=False"
_SHA256 = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"
_SHA512 = (
    "150a14ed5bea6cc731cf86c41566ac427a8db48ef1b9fd626664b3bfbb99071f"
    "a4c922f33dde38719b8c8354e2b7ab9d77e0e67fc12843920a712e73d558e197"
)

HASHES = (
    _digest("md5", "MD5", "49f68a5c8493ec2c0bf489821c21fc3b", "md5(cast({0} AS binary))", _UNSAFE),
    _digest("sha1", "SHA-1", "c22b5f9178342609428d6f51b2c5af4c0bde6a42", "sha1(cast({0} AS binary))", _UNSAFE),
    _digest("sha256", "SHA-256", _SHA256, "sha2(cast({0} AS binary), 256)"),
    _digest("sha512", "SHA-512", _SHA512, "sha2(cast({0} AS binary), 512)"),
    Function(
        "crc32", "(b)", first(fixed(INT, BYTES), fixed(INT, STRING)),
        says="its CRC-32 as zlib, gzip and Ethernet have it",
        shows={'crc32("hi")': "3633523372"},
        python=utf8("zlib.crc32({0})"), polars=_NEVER, spark="crc32(cast({0} AS binary))",
    ),
)
