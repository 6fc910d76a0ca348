"""Hashes as Polars: it has none of them."""

from __future__ import annotations

from ghcm.codegen.native.column_functions.emitting import Emit

EMITTERS: dict[str, Emit] = {}
