"""Comparison as SQL."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, plain
from ghcm.codegen.spark.library.sql import when
from ghcm.codegen.spark.sql import Checked, all_of, given, partial, pure


def equal(a: Checked, b: Checked) -> Checked:
    """A == b."""
    return pure(f"({a} = {b})", a, b)


def unequal(a: Checked, b: Checked) -> Checked:
    """A != b."""
    return pure(f"({a} != {b})", a, b)


def less(a: Checked, b: Checked) -> Checked:
    """A < b."""
    return pure(f"({a} < {b})", a, b)


def at_most(a: Checked, b: Checked) -> Checked:
    """A <= b."""
    return pure(f"({a} <= {b})", a, b)


def greater(a: Checked, b: Checked) -> Checked:
    """A > b."""
    return pure(f"({a} > {b})", a, b)


def at_least(a: Checked, b: Checked) -> Checked:
    """A >= b."""
    return pure(f"({a} >= {b})", a, b)


def least(a: Checked, b: Checked) -> Checked:
    """The smaller of two; null if either is null."""
    return pure(_if_given(f"least({a}, {b})", a, b), a, b)


def greatest(a: Checked, b: Checked) -> Checked:
    """The greater of two; null if either is null."""
    return pure(_if_given(f"greatest({a}, {b})", a, b), a, b)


def _if_given(value: str, *arguments: Checked) -> str:
    known = all_of(*given(*arguments))
    return when(known, value) if known else value


def ensure(a: Checked, message: Checked) -> Checked:
    """True, or a failure with the message."""
    return partial(a.value, (a,), when(f"NOT {a}", f"concat('bad_record: ', {message})"))


EMITTERS: dict[str, Emit] = {
    "eq": plain(equal),
    "ne": plain(unequal),
    "lt": plain(less),
    "le": plain(at_most),
    "gt": plain(greater),
    "ge": plain(at_least),
    "least": plain(least),
    "greatest": plain(greatest),
    "ensure": plain(ensure),
}
