"""The table of the aggregates of `aggregate_by_key` and of published calls: what each takes, gives and means.

The lowering and the verifier type aggregates with it, the documentation and the conformance tests are driven by it. All
skip nulls. Nothing is evaluated here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Literal, TypeAlias

from ghcm import types
from ghcm.functions import comparable
from ghcm.functions.arithmetic import MAX_QUOTIENT
from ghcm.reducers import AggregateFunction
from ghcm.types import as_nullable, nullable_like, strip
from ghcm.unification import MAX_SUMMED_PRECISION, sum_of_many

_DECIMALS = 17
"""How many decimals the fraction of a quantile may have, so that every engine finds the rank in exact decimals."""


class Nothing(Enum):
    """What an aggregate of nothing is."""

    VALUE = "0 or an empty list"
    START = "the result of what it begins with"
    NULL = "null"
    TOO_FEW = "null, of one value too"


Result: TypeAlias = Callable[[types.Type], types.Type | None]
"""From the type of the argument without its `?` to the one of the result, which is None where it does not fit."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One aggregate. `signature` and `meaning` are for people; `takes` says what its argument has to be.

    `option`: the second argument that it has; of `other` a value is a pair of floats. `merges`: whether, or
    when, partial aggregates of bounded size make a whole one.
    """

    function: AggregateFunction
    signature: str
    takes: str
    meaning: str
    result: Result
    nothing: Nothing
    option: Literal["", "fraction", "count", "order", "scale", "other", "fold"] = ""
    merges: bool | Literal["with merge"] = True


def _always(type_: types.Type) -> Result:
    return lambda of: type_


def _compared(gives: Result) -> Result:
    return lambda of: gives(of) if comparable(of) else None


def _sum(of: types.Type) -> types.Type | None:
    if isinstance(of, types.Decimal):
        return sum_of_many(of)
    added = of if isinstance(of, types.Int | types.Float | types.Duration) else None
    return types.Int() if isinstance(of, types.Int32) else added


def _number(of: types.Type) -> types.Type | None:
    return types.Float() if isinstance(of, types.Int | types.Int32 | types.Float) else None


def _same(of: types.Type) -> types.Type | None:
    return of


def _hashed(of: types.Type) -> types.Type | None:
    scalar = isinstance(of, types.Scalar | types.Enumeration) and not isinstance(of, types.Float | types.Null)
    return types.Int() if scalar else None


def _middle(of: types.Type) -> types.Type | None:
    if isinstance(of, types.Decimal):
        return types.Decimal(of.precision + 1, of.scale + 1) if of.precision <= MAX_SUMMED_PRECISION else None
    return _number(of)


def _pair(of: types.Type) -> types.Type | None:
    return types.Float() if of == PAIR else None


PAIR = types.tuple_of(types.Float(), types.Float())
"""What is aggregated of two values."""
_F, _N = AggregateFunction, Nothing
_COMPARES = "It compares values, and maps have no order."

_TABLE = (
    Rule(
        _F.COUNT,
        "count(), count(x)",
        "It counts the values that are not null.",
        "the number of records, or of values that are not null",
        _always(types.Int()),
        _N.VALUE,
    ),
    Rule(
        _F.SUM,
        "sum(x)",
        "It adds numbers and durations.",
        "the sum; whole numbers add up in 128 bits and are checked when the sum is given; the sum of decimals is exact "
        "and has ten digits more than they, 38 at most, which is checked then",
        _sum,
        _N.NULL,
    ),
    Rule(
        _F.MEAN,
        "mean(x), mean(x, scale = 4)",
        "It is the mean of numbers; of decimals it is told how many digits behind the point it has.",
        "the mean as a float; with a scale, of decimals and whole numbers, as a decimal with so many digits behind the "
        "point, a half away from zero",
        _number,
        _N.NULL,
        "scale",
    ),
    Rule(_F.MIN, "min(x)", _COMPARES, "the least value", _compared(_same), _N.NULL),
    Rule(_F.MAX, "max(x)", _COMPARES, "the greatest value", _compared(_same), _N.NULL),
    Rule(
        _F.VAR,
        "var(x)",
        "It is the variance of numbers.",
        "the sample variance (the sum of squared differences from the mean, by one less than their number); NaN where "
        "a value is infinite or NaN; engines are within 1e-12 of the sum of squares",
        _number,
        _N.TOO_FEW,
    ),
    Rule(
        _F.STD,
        "std(x)",
        "It is the standard deviation of numbers.",
        "the sample standard deviation, the root of `var`",
        _number,
        _N.TOO_FEW,
    ),
    Rule(
        _F.FIRST,
        "first(x), first(x, order = r => ...), first(x, order = arrival), first(x, 3)",
        "It takes any value.",
        "the value of the record that is first by event time (or by `order`), of equal ones by the whole record, "
        "ascending; records where x is null are passed over; with a number a list of the so many first ones, in their "
        "order. With order = arrival it is the one that came first, in a stream unit: records of one partition come in "
        "its order, those of several as they come; a batch unit has all of its records at once, and none came first",
        _same,
        _N.NULL,
        "order",
    ),
    Rule(
        _F.LAST,
        "last(x), last(x, order = r => ...), last(x, order = arrival), last(x, 3)",
        "It takes any value.",
        "the same of the record that is last, or of the so many last ones, the last one at the end",
        _same,
        _N.NULL,
        "order",
    ),
    Rule(
        _F.COLLECT,
        "collect(x)",
        _COMPARES,
        "the values as a list in ascending order",
        _compared(types.List),
        _N.VALUE,
        merges=False,
    ),
    Rule(
        _F.DISTINCT_COUNT,
        "distinct_count(x)",
        _COMPARES,
        "the number of different values, exactly",
        _compared(_always(types.Int())),
        _N.VALUE,
        merges=False,
    ),
    Rule(
        _F.APPROX_DISTINCT,
        "approx_distinct(x)",
        "It counts scalar values other than floats and decimals.",
        "about the number of different values, in bounded memory: a HyperLogLog of 4,096 registers over a fixed hash, "
        "so that every engine gives the same number; its standard error is 1.6 %",
        _hashed,
        _N.VALUE,
    ),
    Rule(
        _F.QUANTILE,
        "quantile(x, 0.9)",
        _COMPARES,
        "the least value that so large a fraction of the values does not exceed (the nearest rank), exactly",
        _compared(_same),
        _N.NULL,
        "fraction",
        merges=False,
    ),
    Rule(
        _F.TOP_K,
        "top_k(x, 3)",
        _COMPARES,
        "the so many greatest values as a list in descending order",
        _compared(types.List),
        _N.VALUE,
        "count",
    ),
    Rule(
        _F.MEDIAN,
        "median(x)",
        f"It is the median of numbers, and of decimals of at most {MAX_SUMMED_PRECISION} digits.",
        "the value in the middle, of an even number the mean of the two there, exactly: of whole numbers and floats as "
        "the nearest float, of decimals as a decimal with one digit more; quantile(x, 0.5) takes any values and "
        "gives one of them",
        _middle,
        _N.NULL,
        merges=False,
    ),
    Rule(
        _F.MODE,
        "mode(x)",
        _COMPARES,
        "the value that is there most often, of several such the least",
        _compared(_same),
        _N.NULL,
        merges=False,
    ),
    Rule(
        _F.COVAR,
        "covar(x, y)",
        "It is the covariance of two numbers.",
        "the sample covariance of the records where both are there (the sum of the products of their differences from "
        "the means, by one less than their number); NaN where a value is infinite or NaN; engines are within 1e-12 of "
        "the root of the product of the sums of squares",
        _pair,
        _N.TOO_FEW,
        "other",
    ),
    Rule(
        _F.CORR,
        "corr(x, y)",
        "It is the correlation of two numbers.",
        "Pearson's correlation, from -1 to 1, of the records where both are there; null where all of one are the same, "
        "NaN where a value is infinite or NaN; engines are within 1e-12 of it times the sum of squares of one by the "
        "sum of its squared differences from the mean",
        _pair,
        _N.TOO_FEW,
        "other",
    ),
    Rule(
        _F.FOLD,
        "fold(x, 0, (total, x) => total + x, merge = (a, b) => a + b)",
        "It takes any value, what it begins with, and a function of the value so far and the next one.",
        "an aggregate of one's own: each value is added to what it begins with, merge makes one of any two of these, "
        "and result = s => ... the value that is given; of no values that is the result of what it begins with. "
        "Merge is proved to give the same in any order, or claimed by @associative @commutative. Without it the "
        "values are added one after the other, by event time or order = r => ..., equal ones by the whole record; the "
        "values of a group are then kept until it is given",
        _same,
        _N.START,
        "fold",
        merges="with merge",
    ),
)

AGGREGATES: dict[AggregateFunction, Rule] = {rule.function: rule for rule in _TABLE}


def mean_of_decimals(of: types.Type, scale: int) -> types.Decimal | None:
    """The decimal of means of decimals with so many digits behind the point; None where these are too many."""
    if not isinstance(of, types.Decimal) or of.precision > MAX_SUMMED_PRECISION or scale > MAX_QUOTIENT:
        return None
    precision = of.precision - of.scale + (scale < of.scale) + scale
    divided = sum_of_many(of).precision + max(scale - of.scale, 0)
    fits = precision <= MAX_QUOTIENT and divided <= MAX_QUOTIENT + 5
    return types.Decimal(max(precision, 1), scale) if fits else None


def result_of(function: AggregateFunction, of: types.Type, *, several: bool = False) -> types.Type | None:
    """The type of the aggregate of values of a type: null where every value may be; None where they do not fit.

    `several`: of `first` and `last` of so many records.
    """
    rule = AGGREGATES[function]
    result = rule.result(strip(of))
    if several and rule.option == "order" and result is not None:
        return types.List(result)
    if result is None:
        return None
    match rule.nothing:
        case Nothing.VALUE | Nothing.START:
            return result
        case Nothing.NULL:
            return nullable_like(result, of)
        case Nothing.TOO_FEW:
            return as_nullable(result)


def rank_fraction(fraction: float) -> Fraction:
    """The fraction of a quantile as the decimal that was written.

    >>> rank_fraction(0.07)
    Fraction(7, 100)
    """
    return Fraction(repr(fraction))


def fraction_problem(fraction: float) -> str:
    """What is wrong with the fraction of a quantile; empty where nothing is."""
    if not 0 <= fraction <= 1:
        return "is not between 0 and 1"
    return "" if 10**_DECIMALS % rank_fraction(fraction).denominator == 0 else f"has more than {_DECIMALS} decimals"
