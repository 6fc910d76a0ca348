"""Three-valued logic, nulls and comparison as SQL, where no text of the table can say it."""

from __future__ import annotations

from ghcm.codegen.spark.functions.emitting import Emit, plain
from ghcm.codegen.spark.library.sql import when
from ghcm.codegen.spark.sql import Checked, all_of, first, given, partial, pure


def both(a: Checked, b: Checked) -> Checked:
    """A and b, three-valued; b is evaluated unless a is false."""
    late = None if b.error is None else when(f"coalesce({a}, true)", b.error)
    return Checked(f"({a} AND {b})", first(a.error, late))


def either(a: Checked, b: Checked) -> Checked:
    """A or b, three-valued; b is evaluated unless a is true."""
    late = None if b.error is None else when(f"NOT coalesce({a}, false)", b.error)
    return Checked(f"({a} OR {b})", first(a.error, late))


def coalesce(*values: Checked) -> Checked:
    """The first that is not null; later ones are evaluated only where needed."""
    errors, missing = [values[0].error], f"{values[0].value} IS NULL"
    for value in values[1:]:
        errors.append(None if value.error is None else when(missing, value.error))
        missing += f" AND {value} IS NULL"
    return Checked(f"coalesce({', '.join(value.value for value in values)})", first(*errors))


# --- comparison ------------------------------------------------------------------------------------------------------


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
    "and": plain(both),
    "or": plain(either),
    "coalesce": plain(coalesce),
    "least": plain(least),
    "greatest": plain(greatest),
    "ensure": plain(ensure),
}
