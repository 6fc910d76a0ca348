"""Three-valued logic and nulls as SQL."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, plain, same
from ghcm.codegen.spark.library.sql import when
from ghcm.codegen.spark.sql import Checked, first, pure


def both(a: Checked, b: Checked) -> Checked:
    """A and b, three-valued; b is evaluated unless a is false."""
    late = None if b.error is None else when(f"coalesce({a}, true)", b.error)
    return Checked(f"({a} AND {b})", first(a.error, late))


def either(a: Checked, b: Checked) -> Checked:
    """A or b, three-valued; b is evaluated unless a is true."""
    late = None if b.error is None else when(f"NOT coalesce({a}, false)", b.error)
    return Checked(f"({a} OR {b})", first(a.error, late))


def negated(a: Checked) -> Checked:
    """Not a."""
    return pure(f"(NOT {a})", a)


def is_null(a: Checked) -> Checked:
    """Whether there is no value."""
    return pure(f"({a} IS NULL)", a)


def is_not_null(a: Checked) -> Checked:
    """Whether there is a value."""
    return pure(f"({a} IS NOT NULL)", a)


def coalesce(*values: Checked) -> Checked:
    """The first that is not null; later ones are evaluated only where needed."""
    errors, missing = [values[0].error], f"{values[0].value} IS NULL"
    for value in values[1:]:
        errors.append(None if value.error is None else when(missing, value.error))
        missing += f" AND {value} IS NULL"
    return Checked(f"coalesce({', '.join(value.value for value in values)})", first(*errors))


EMITTERS: dict[str, Emit] = {
    "and": plain(both),
    "or": plain(either),
    "not": plain(negated),
    "is_null": plain(is_null),
    "is_not_null": plain(is_not_null),
    "coalesce": plain(coalesce),
    "known": same,
}
