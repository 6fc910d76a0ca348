"""Comparison in the table of functions.

Strings by code point, structs and lists field by field, NaN equals itself and is greatest, -0.0 = 0.0; inside structs
and lists null equals null and is least.
"""

from __future__ import annotations

from ghcm.functions.table import ELSE, Choice, Example, Failure, Function
from ghcm.signatures import BOOL, STRING, Resolution, Rule, comparable
from ghcm.support import Never
from ghcm.types import List, Null, Struct, Type
from ghcm.types.unification import unify


def compare(arguments: tuple[Type, ...]) -> Resolution | None:
    """Two comparable values of one type give bool."""
    if len(arguments) != 2:
        return None
    both = unify(*arguments)
    return Resolution((both, both), BOOL) if both is not None and comparable(both) else None


def same(arguments: tuple[Type, ...]) -> Resolution | None:
    """Two comparable values of one type give that type."""
    if len(arguments) != 2:
        return None
    both = unify(*arguments)
    return Resolution((both, both), both) if both is not None and comparable(both) else None


NESTED = Never("Polars orders no structs, and takes nulls inside structs and lists for unknown")
_POLARS: dict[Choice, str | Never] = {Struct: NESTED, List: NESTED, Null: Never("there is nothing to compare")}


def _compared(name: str, form: str, says: str, *examples: Example, of: Rule = compare) -> Function:
    sign = {"==": "="}.get(form[2:-2], form[2:-2])
    spark = f"({{0}} {sign} {{1}})" if of is compare else f"{{given:then}}{name}({{0}}, {{1}})"
    polars = _POLARS if of is compare else _POLARS | {ELSE: f"column_numbers.{name}({{0}}, {{1}})"}
    return Function(name, form, of, says=says, method=False, examples=examples, polars=polars, spark=spark)


# fmt: off
TABLE = (
    _compared(
        "eq", "a == b", "whether both are the same value",
        Example("1 == 1.0", "true"), Example('"a" == "A"', "false"),
    ),
    _compared("ne", "a != b", "whether they differ", Example("1 != 2", "true")),
    _compared("lt", "a < b", "whether a is less", Example('"Z" < "a"', "true")),
    _compared("le", "a <= b", "whether a is less or equal", Example("2 <= 2", "true")),
    _compared("gt", "a > b", "whether a is greater", Example("90s > 1m", "true")),
    _compared("ge", "a >= b", "whether a is greater or equal", Example("1 >= 2", "false")),
    _compared(
        "least", "min(a, b)", "the smaller of two values; null if either is null", Example("min(3, 2)", "2"), of=same,
    ),
    _compared(
        "greatest", "max(a, b)", "the greater of two values; null if either is null",
        Example('max("a", "b")', '"b"'), of=same,
    ),
    Function(
        "ensure", "(condition, message)", (BOOL, STRING), BOOL,
        "true; fails with the message where the condition is false. A filter by it makes dead letters of records that "
        "a program does not expect",
        method=False, failures=(Failure.BAD_RECORD,), constants=(1,),
        examples=(
            Example('ensure(1 < 2, "no")', "true"),
            Example('ensure(1 > 2, "too small")', fails=Failure.BAD_RECORD),
        ),
        python="row_numbers.ensure({0}, {1})",
        polars="{0}", polars_fails="~{0}",
        spark="{0}", spark_fails=(("NOT {0}", Failure.BAD_RECORD, "{1}"),),
    ),
)
