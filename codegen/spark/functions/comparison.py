"""Comparison as a job writes it."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, plain

EMITTERS: dict[str, Emit] = {
    "eq": plain("equal"),
    "ne": plain("unequal"),
    "lt": plain("less"),
    "le": plain("at_most"),
    "gt": plain("greater"),
    "ge": plain("at_least"),
    "least": plain("least"),
    "greatest": plain("greatest"),
    "ensure": plain("ensure"),
}
