"""The meanings of the functions of three-valued logic and nulls."""

from __future__ import annotations

from ghcm.spg.reference.functions.meaning import Meaning

MEANINGS: dict[str, Meaning] = {
    "not": lambda _, a: not a,
    "is_null": lambda _, a: a is None,
    "is_not_null": lambda _, a: a is not None,
    "known": lambda _, a: a,
}
