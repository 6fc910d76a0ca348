"""JSON texts as Polars: none of its functions has a columnar form, as the table says."""

from __future__ import annotations

from ghcm.codegen.native.column_functions.emitting import Emit

EMITTERS: dict[str, Emit] = {}
