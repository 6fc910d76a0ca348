"""Hashes in the table of functions: of bytes, or of the UTF-8 of a string."""

from __future__ import annotations

from ghcm.functions.encodings import utf8
from ghcm.functions.table import Example, Function
from ghcm.signatures import BYTES, INT, STRING, first, fixed
from ghcm.support import Never

_DIGEST = first(fixed(STRING, BYTES), fixed(STRING, STRING))
_NEVER = Never("Polars has hashes of its own only")


def _digest(name: str, title: str, example: str, spark: str, options: str = "") -> Function:
    """A hash of `hashlib` in hexadecimal digits; `example` is that of "hi"."""
    return Function(
        name,
        "(b)",
        _DIGEST,
        says=f"its {title} in lower-case hexadecimal digits",
        examples=(Example(f'{name}("hi")', f'"{example}"'),),
        python=utf8(f"hashlib.{name}({{0}}{options}).hexdigest()"),
        polars=_NEVER,
        spark=spark,
    )


_UNSAFE = ", usedforsecurity=False"
_SHA256 = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"
_SHA512 = (
    "150a14ed5bea6cc731cf86c41566ac427a8db48ef1b9fd626664b3bfbb99071f"
    "a4c922f33dde38719b8c8354e2b7ab9d77e0e67fc12843920a712e73d558e197"
)

TABLE = (
    _digest("md5", "MD5", "49f68a5c8493ec2c0bf489821c21fc3b", "md5(cast({0} AS binary))", _UNSAFE),
    _digest("sha1", "SHA-1", "c22b5f9178342609428d6f51b2c5af4c0bde6a42", "sha1(cast({0} AS binary))", _UNSAFE),
    _digest("sha256", "SHA-256", _SHA256, "sha2(cast({0} AS binary), 256)"),
    _digest("sha512", "SHA-512", _SHA512, "sha2(cast({0} AS binary), 512)"),
    Function(
        "crc32",
        "(b)",
        first(fixed(INT, BYTES), fixed(INT, STRING)),
        says="its CRC-32 as zlib, gzip and Ethernet have it",
        examples=(Example('crc32("hi")', "3633523372"),),
        python=utf8("zlib.crc32({0})"),
        polars=_NEVER,
        spark="crc32(cast({0} AS binary))",
    ),
)
