"""Strings as a job writes it."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, by_first, plain

__all__ = ["EMITTERS"]

EMITTERS: dict[str, Emit] = {
    "length": by_first(List="size", other="length"),
    "lower": plain("lower"),
    "upper": plain("upper"),
    "trim": plain("trim"),
    "starts_with": plain("starts_with"),
    "ends_with": plain("ends_with"),
    "contains": by_first(List="has_item", other="contains"),
    "replace": plain("replace"),
    "substring": plain("substring"),
    "split": plain("split"),
}
