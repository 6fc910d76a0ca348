"""Three-valued logic and nulls as a job writes it."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, plain, same

EMITTERS: dict[str, Emit] = {
    "and": plain("both"),
    "or": plain("either"),
    "not": plain("negated"),
    "is_null": plain("is_null"),
    "is_not_null": plain("is_not_null"),
    "coalesce": plain("coalesce"),
    "known": same,
}
