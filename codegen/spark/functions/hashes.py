"""Hashes as a job writes them."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, plain

EMITTERS: dict[str, Emit] = {
    "md5": plain("md5"),
    "sha1": plain("sha1"),
    "sha256": plain("sha256"),
    "sha512": plain("sha512"),
    "crc32": plain("crc32"),
}
