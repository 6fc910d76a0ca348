"""Bytes and their texts in generated columnar code: masks of what cannot be read."""

from __future__ import annotations

import polars as pl

_HEX = r"\A(?:[0-9a-fA-F]{2})*\z"
_BASE64 = r"\A(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?\z"


def from_hex_fails(value: pl.Expr) -> pl.Expr:
    """Where it is not that."""
    return ~value.str.contains(_HEX)


def from_base64_fails(value: pl.Expr) -> pl.Expr:
    """Where it is not that."""
    return ~value.str.contains(_BASE64)
