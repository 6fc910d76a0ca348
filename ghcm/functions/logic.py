"""Three-valued logic and nulls in the table of functions.

The right side is evaluated only where the left does not decide.
"""

from __future__ import annotations

from ghcm.functions.table import Example, Function, Nulls
from ghcm.signatures import BOOL, Resolution
from ghcm.types import Null, Nullable, Type, as_nullable, is_nullable, strip
from ghcm.types.unification import unify


def any_to_bool(arguments: tuple[Type, ...]) -> Resolution | None:
    """Any one value gives bool."""
    return Resolution(arguments, BOOL) if len(arguments) == 1 else None


def logic(arguments: tuple[Type, ...]) -> Resolution | None:
    """Two bools, either perhaps null."""
    if len(arguments) != 2 or not all(strip(each) == BOOL for each in arguments):
        return None
    return Resolution(arguments, as_nullable(BOOL) if any(map(is_nullable, arguments)) else BOOL)


def coalesce(arguments: tuple[Type, ...]) -> Resolution | None:
    """Two or more values that unify; nullable only if the last is."""
    if len(arguments) < 2:
        return None
    result: Type | None = arguments[0]
    for each in arguments[1:]:
        result = None if result is None else unify(result, each)
    if result is None or isinstance(result, Null):
        return None
    last = result if is_nullable(arguments[-1]) else strip(result)
    return Resolution((*(as_nullable(result) if is_nullable(each) else strip(result) for each in arguments),), last)


def known(arguments: tuple[Type, ...]) -> Resolution | None:
    """A nullable value that is proved not to be null."""
    fits = len(arguments) == 1 and isinstance(arguments[0], Nullable)
    return Resolution(arguments, strip(arguments[0])) if fits else None


_BOOL, _TEXT = ("{ b: bool? }", "{ b: null }"), ("{ s: string? }", "{ s: null }")

# fmt: off
TABLE = (
    Function(
        "and", "a and b", logic, says="false if either is false, else null if either is null",
        nulls=Nulls.HANDLED, method=False,
        examples=(Example("1 < 2 and 2 < 3", "true"), Example("r.b and false", "false", given=_BOOL)),
    ),
    Function(
        "or", "a or b", logic, says="true if either is true, else null if either is null",
        nulls=Nulls.HANDLED, method=False,
        examples=(Example("1 > 2 or 2 > 3", "false"), Example("r.b or false", "null", given=_BOOL)),
    ),
    Function(
        "not", "not a", (BOOL,), BOOL, "the opposite", method=False,
        examples=(Example("not 1 > 2", "true"), Example("not r.b", "null", given=_BOOL)),
        python="not {0}", polars="~{0}",
        spark="(NOT {0})",
    ),
    Function(
        "is_null", "a is null", any_to_bool, says="whether it is null", nulls=Nulls.HANDLED, method=False,
        examples=(Example("r.s is null", "true", given=_TEXT),),
        polars="{0}.is_null()",
        spark="({0} IS NULL)",
    ),
    Function(
        "is_not_null", "a is not null", any_to_bool, says="whether it is a value", nulls=Nulls.HANDLED, method=False,
        examples=(Example("r.s is not null", "false", given=_TEXT),),
        polars="{0}.is_not_null()",
        spark="({0} IS NOT NULL)",
    ),
    Function(
        "coalesce", "a ?? b, coalesce(a, b, ...)", coalesce, nulls=Nulls.HANDLED,
        says="the first that is not null; later ones are evaluated only where needed",
        examples=(Example('r.s ?? "none"', '"none"', given=_TEXT),),
    ),
    Function(
        "known", "a, where it is known not to be null", known, nulls=Nulls.HANDLED, method=False,
        says="the same value, typed without its `?`: the compiler has proved that it is not null; engines need no "
        "check",
        examples=(Example("if r.m is not null then r.m + 1 else 0", "8", given=("{ m: int? }", "{ m: 7 }")),),
        polars="{0}",
        spark="{0}",
    ),
)
