"""Hashes as Python."""

from __future__ import annotations

from ghcm.codegen.native.row_functions.emitting import Emit, Scope, helper
from ghcm.codegen.native.row_functions.encodings import bytes_of
from ghcm.codegen.native.row_text import Code
from ghcm.expr import Call


def _hash(scope: Scope, expr: Call, codes: list[Code]) -> Code:
    return helper(f"hashes.{expr.function}", bytes_of(expr, codes[0]))


EMITTERS: dict[str, Emit] = dict.fromkeys(("md5", "sha1", "sha256", "sha512", "crc32"), _hash)
