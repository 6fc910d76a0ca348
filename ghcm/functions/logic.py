"""Comparison, three-valued logic and nulls in the table of functions.

Strings are compared by code point, structs and lists field by field, NaN equals itself and is greatest, -0.0 = 0.0;
inside structs and lists null equals null and is least. The right side of a logical operator is evaluated only where
the left does not decide.
"""

from collections.abc import Mapping

from ghcm.functions.table import ELSE, Choice, Example, Failure, Function, Nulls
from ghcm.signatures import BOOL, STRING, Resolution, Rule, comparable
from ghcm.support import Never
from ghcm.types import List, Null, Nullable, Struct, Type, as_nullable, is_nullable, nullable_like, strip
from ghcm.unification import unify


def compare(result: Type | None) -> Rule:
    """Two comparable values of one type give that result, or one of them."""

    def rule(arguments: tuple[Type, ...]) -> Resolution | None:
        both = unify(*arguments) if len(arguments) == 2 else None
        return None if both is None or not comparable(both) else Resolution((both, both), result or both)

    return rule


def same(arguments: tuple[Type, ...]) -> Resolution | None:
    """Two comparable values of one type, either perhaps null, give a bool that never is."""
    found = compare(BOOL)(arguments)
    if found is None:
        return None
    both = strip(found.parameters[0])
    return None if isinstance(both, Null) else Resolution(tuple(nullable_like(both, each) for each in arguments), BOOL)


NESTED = Never("Polars orders no structs, and takes nulls inside structs and lists for unknown")
_POLARS: dict[Choice, str | Never] = {Struct: NESTED, List: NESTED, Null: Never("there is nothing to compare")}


def _comparison(name: str, form: str, says: str, shows: Mapping[str, str], sign: str) -> Function:
    spark = f"({{0}} {sign} {{1}})"
    return Function(name, form, compare(BOOL), says=says, method=False, shows=shows, polars=_POLARS, spark=spark)


def _extreme(name: str, form: str, says: str, shows: Mapping[str, str]) -> Function:
    polars = _POLARS | {ELSE: f"column_numbers.{name}({{0}}, {{1}})"}
    spark = f"{{given:then}}{name}({{0}}, {{1}})"
    return Function(name, form, compare(None), says=says, method=False, shows=shows, polars=polars, spark=spark)


_EQUAL = {"1 == 1.0": "true", '"a" == "A"': "false", 'map_of("a", 1, "b", 2) == map_of("b", 2, "a", 1)': "true"}
_BOOL, _TEXT = ("{ b: bool? }", "{ b: null }"), ("{ s: string? }", "{ s: null }")

# fmt: off
COMPARISON = (
    _comparison("eq", "a == b", "whether both are the same value", _EQUAL, "="),
    _comparison("ne", "a != b", "whether they differ", {"1 != 2": "true"}, "!="),
    _comparison("lt", "a < b", "whether a is less", {'"Z" < "a"': "true"}, "<"),
    _comparison("le", "a <= b", "whether a is less or equal", {"2 <= 2": "true"}, "<="),
    _comparison("gt", "a > b", "whether a is greater", {"90s > 1m": "true"}, ">"),
    _comparison("ge", "a >= b", "whether a is greater or equal", {"1 >= 2": "false"}, ">="),
    Function(
        "same", "same(a, b), a.same(b)", same, says="whether both are the same value or both are null; never null",
        nulls=Nulls.HANDLED,
        shows=(
            Example("r.s.same(null)", "true", given=_TEXT), Example('r.s.same("none")', "false", given=_TEXT),
            Example("same(1, 1.0)", "true"),
        ),
        polars={Struct: NESTED, List: NESTED, ELSE: "{0}.eq_missing({1})"}, spark="({0} <=> {1})",
    ),
    _extreme("least", "min(a, b)", "the smaller of two values; null if either is null", {"min(3, 2)": "2"}),
    _extreme("greatest", "max(a, b)", "the greater of two values; null if either is null", {'max("a", "b")': '"b"'}),
    Function(
        "ensure", "(condition, message)", (BOOL, STRING), BOOL,
        "true; fails with the message where the condition is false. A filter by it makes dead letters of records that "
        "a program does not expect",
        method=False, failures=(Failure.BAD_RECORD,), constants=(1,),
        shows={'ensure(1 < 2, "no")': "true", 'ensure(1 > 2, "too small")': Failure.BAD_RECORD},
        python="row_numbers.ensure({0}, {1})", polars="{0}", polars_fails="~{0}",
        spark="{0}", spark_fails=(("NOT {0}", Failure.BAD_RECORD, "{1}"),),
    ),
)


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
    return Resolution((*(nullable_like(strip(result), each) for each in arguments),), last)


def known(arguments: tuple[Type, ...]) -> Resolution | None:
    """A nullable value that is proved not to be null."""
    fits = len(arguments) == 1 and isinstance(arguments[0], Nullable)
    return Resolution(arguments, strip(arguments[0])) if fits else None


LOGIC = (
    Function(
        "and", "a and b", logic, says="false if either is false, else null if either is null",
        nulls=Nulls.HANDLED, method=False,
        shows=(Example("1 < 2 and 2 < 3", "true"), Example("r.b and false", "false", given=_BOOL)),
    ),
    Function(
        "or", "a or b", logic, says="true if either is true, else null if either is null",
        nulls=Nulls.HANDLED, method=False,
        shows=(Example("1 > 2 or 2 > 3", "false"), Example("r.b or false", "null", given=_BOOL)),
    ),
    Function(
        "not", "not a", (BOOL,), BOOL, "the opposite", method=False,
        shows=(Example("not 1 > 2", "true"), Example("not r.b", "null", given=_BOOL)),
        python="not {0}", polars="~{0}", spark="(NOT {0})",
    ),
    Function(
        "is_null", "a is null", any_to_bool, says="whether it is null", nulls=Nulls.HANDLED, method=False,
        shows=(Example("r.s is null", "true", given=_TEXT),),
        polars="{0}.is_null()", spark="({0} IS NULL)",
    ),
    Function(
        "is_not_null", "a is not null", any_to_bool, says="whether it is a value", nulls=Nulls.HANDLED, method=False,
        shows=(Example("r.s is not null", "false", given=_TEXT),),
        polars="{0}.is_not_null()", spark="({0} IS NOT NULL)",
    ),
    Function(
        "coalesce", "a ?? b, coalesce(a, b, ...)", coalesce, nulls=Nulls.HANDLED,
        says="the first that is not null; later ones are evaluated only where needed",
        shows=(Example('r.s ?? "none"', '"none"', given=_TEXT),),
    ),
    Function(
        "known", "a, where it is known not to be null", known, nulls=Nulls.HANDLED, method=False,
        says="the same value, typed without its `?`: the compiler has proved that it is not null; engines need no "
        "check",
        shows=(Example("if r.m is not null then r.m + 1 else 0", "8", given=("{ m: int? }", "{ m: 7 }")),),
        polars="{0}", spark="{0}",
    ),
)
