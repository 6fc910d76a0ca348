"""Arithmetic in the table of functions.

Floats never fail but for a zero divisor. Decimals are never rounded, and have digits enough for every result, so that
they never fail.
"""

from collections.abc import Callable

from ghcm.functions.table import ELSE, SAFE, Choice, Example, Failure, Function, SqlFailure
from ghcm.signatures import DURATION, FLOAT, INT, STRING, TIMESTAMP, Resolution, Rule, first, fixed
from ghcm.support import Never
from ghcm.types import INT_MIN, Decimal, Duration, Float, List, String, Timestamp, Type
from ghcm.unification import as_decimal, decimal_of, unify


def lists_joined(arguments: tuple[Type, ...]) -> Resolution | None:
    """Two lists whose items are of one type give a list."""
    match arguments:
        case (List(), List()):
            both = unify(*arguments)
            return None if both is None else Resolution((both, both), both)
        case _:  # these do not fit
            return None


def decimals(result: Callable[[Decimal, Decimal], Decimal | None]) -> Rule:
    """Two decimals of whatever digits, one of which may be a whole number; nothing is rounded."""

    def rule(arguments: tuple[Type, ...]) -> Resolution | None:
        if len(arguments) != 2 or not any(isinstance(each, Decimal) for each in arguments):
            return None
        left, right = map(as_decimal, arguments)
        found = None if left is None or right is None else result(left, right)
        return None if left is None or right is None or found is None else Resolution((left, right), found)

    return rule


def sum_of(left: Decimal, right: Decimal) -> Decimal | None:
    """The decimal that holds every sum and difference."""
    whole = max(left.precision - left.scale, right.precision - right.scale) + 1
    return decimal_of(whole, max(left.scale, right.scale))


def product_of(left: Decimal, right: Decimal) -> Decimal | None:
    """The decimal that holds every product."""
    scale = left.scale + right.scale
    return decimal_of(left.precision + right.precision - scale, scale)


def rounded(of: Decimal, scale: int) -> Decimal:
    """The decimal of a number rounded to a lower scale: rounding may carry into one more digit ahead of the point."""
    return of if scale >= of.scale else Decimal(of.precision - of.scale + 1 + scale, scale)


def same_decimal(arguments: tuple[Type, ...]) -> Resolution | None:
    """A decimal gives one of the same digits."""
    return Resolution(arguments, arguments[0]) if len(arguments) == 1 and isinstance(arguments[0], Decimal) else None


def round_half_up(arguments: tuple[Type, ...]) -> Resolution | None:
    """A decimal and a list of the decimal that it becomes."""
    match arguments:
        case (Decimal() as of, List(item=Decimal() as to)) if to == rounded(of, to.scale):
            return Resolution(arguments, to)
        case _:  # these do not fit
            return None


MAX_QUOTIENT = 32
"""So many digits a quotient of decimals has at most, and what is divided five more: engines divide that exactly."""


def quotient_of(left: Decimal, right: Decimal, scale: int) -> Decimal | None:
    """The decimal of quotients that are rounded to so many digits behind the point; None where there are too many."""
    whole, more = left.precision - left.scale + right.scale + 1, scale + right.scale - left.scale
    widest = max(left.precision + max(more, 0), right.precision + max(-more, 0))
    fits = whole + scale <= MAX_QUOTIENT and widest <= MAX_QUOTIENT + 5
    return Decimal(whole + scale, scale) if fits else None


def quotient(arguments: tuple[Type, ...]) -> Resolution | None:
    """Two decimals and a list of the decimal that they become."""
    match arguments:
        case (Decimal() as left, Decimal() as right, List(item=Decimal() as to)) if to == quotient_of(
            left, right, to.scale
        ):
            return Resolution(arguments, to)
        case _:  # these do not fit
            return None


ARITHMETIC = first(fixed(INT, INT, INT), fixed(FLOAT, FLOAT, FLOAT))
SUM = first(
    ARITHMETIC,
    fixed(STRING, STRING, STRING),
    fixed(TIMESTAMP, TIMESTAMP, DURATION),
    fixed(DURATION, DURATION, DURATION),
    lists_joined,
    decimals(sum_of),
)
DIFFERENCE = first(
    ARITHMETIC,
    fixed(TIMESTAMP, TIMESTAMP, DURATION),
    fixed(DURATION, TIMESTAMP, TIMESTAMP),
    fixed(DURATION, DURATION, DURATION),
    decimals(sum_of),
)
PRODUCT = first(ARITHMETIC, fixed(DURATION, DURATION, INT), decimals(product_of))
FLOORED = first(ARITHMETIC, fixed(INT, DURATION, DURATION))
ABSOLUTE_FAILS: dict[Choice, str] = {
    SAFE: "", Duration: f"columns.micros({{0}}) == {INT_MIN}", ELSE: f"{{0}} == {INT_MIN}",
}  # fmt: skip
UNARY = first(fixed(INT, INT), fixed(FLOAT, FLOAT), fixed(DURATION, DURATION), same_decimal)


def _overflows(value: str) -> tuple[SqlFailure, ...]:
    return ((value + " IS NULL{given:after}", Failure.OVERFLOW, "the result does not fit into 64 bits"),)


OVERFLOWS = _overflows("{value}")
NO_INT: tuple[SqlFailure, ...] = (
    ("isnan({0}) OR abs({0}) = double('inf')", Failure.BAD_CAST, "it is no whole number"),
    (f"NOT ({{0}} >= {-(2.0**63)}D AND {{0}} < {2.0**63}D)", Failure.OVERFLOW, "the number does not fit into 64 bits"),
)
_LATER, _EARLIER = "try_add(unix_micros({0}), {1})", "try_subtract(unix_micros({0}), {1})"
_BY_ZERO = (("{0:given}{1} = 0", Failure.ZERO_DIVISOR, "division by zero"),)

_LOGARITHM = (
    "{{given:then}}CASE WHEN {{0}} > 0D THEN {}({{0}}) WHEN {{0}} = 0D THEN double('-Infinity') ELSE double('NaN') END"
)
"""Of what is not above zero Spark's logarithms are null."""
_PRICE = ("{ price: decimal(10, 2) }", "{ price: 10 }")
_LARGEST = ("{ n: int }", "{ n: 9223372036854775807 }")
_ZERO = ("{ n: int }", "{ n: 0 }")

# fmt: off
TABLE = (
    Function(
        "add", "a + b", SUM, method=False, failures=(Failure.OVERFLOW,),
        says="the sum; strings are joined, and lists; a timestamp and a duration give a timestamp; decimals are exact, "
        "and the result has digits enough for every sum",
        shows=(
            Example("1 + 2", "3"),
            Example('"a" + "b"', '"ab"'),
            Example("[1, 2] + [3]", "[1, 2, 3]"),
            Example("from_micros(0) + 90s", '"1970-01-01T00:01:30.000000Z"'),
            Example("r.price + 0.005", '"10.005"', given=_PRICE),
            Example("r.n + 1", fails=Failure.OVERFLOW, given=_LARGEST),
        ),
        python={
            Float: "{0} + {1}", String: "{0} + {1}", List: "{0} + {1}",
            Decimal: "decimals.EXACT.add({0}, {1})", ELSE: "row_numbers.add({0}, {1})",
        },
        spark={
            Float: "({0} + {1})", Decimal: "cast(({0} + {1}) AS {type})", List: "concat({0}, {1})",
            Timestamp: f"timestamp_micros({_LATER})", ELSE: "try_add({0}, {1})",
        },
        spark_fails={Timestamp: _overflows(_LATER), ELSE: OVERFLOWS},
    ),
    Function(
        "sub", "a - b", DIFFERENCE, says="the difference; of two timestamps a duration",
        method=False, failures=(Failure.OVERFLOW,),
        shows=(
            Example("1 - 2", "-1"),
            Example("90s - 1m", "30"),
            Example("-2 - r.n", fails=Failure.OVERFLOW, given=_LARGEST),
        ),
        python={
            Float: "{0} - {1}",
            Decimal: "decimals.EXACT.subtract({0}, {1})", ELSE: "row_numbers.subtract({0}, {1})",
        },
        spark={
            Float: "({0} - {1})", Decimal: "cast(({0} - {1}) AS {type})",
            Timestamp: f"timestamp_micros({_EARLIER})", ELSE: "try_subtract({0}, {1})",
        },
        spark_fails={Timestamp: _overflows(_EARLIER), ELSE: OVERFLOWS},
    ),
    Function(
        "mul", "a * b", PRODUCT, method=False, failures=(Failure.OVERFLOW,),
        says="the product; of decimals exactly, with the digits of both; of a duration and a whole number, in either "
        "order, a duration",
        shows=(
            Example("6 * 7", "42"),
            Example("2 * 90s", "180"),
            Example("r.price * 1.19", '"11.9000"', given=_PRICE),
            Example("r.n * 2", fails=Failure.OVERFLOW, given=_LARGEST),
        ),
        python={
            Float: "{0} * {1}",
            Decimal: "decimals.EXACT.plus(decimals.EXACT.multiply({0}, {1}))", ELSE: "row_numbers.multiply({0}, {1})",
        },
        spark={Float: "({0} * {1})", ELSE: "try_multiply({0}, {1})"}, spark_fails=OVERFLOWS,
    ),
    Function(
        "div", "a / b", first(fixed(FLOAT, FLOAT, FLOAT), fixed(FLOAT, DURATION, DURATION)),
        says="the quotient as a float, the operands converted to float first; of two durations too",
        method=False, failures=(Failure.ZERO_DIVISOR,),
        shows=(
            Example("7 / 2", "3.5"),
            Example("90s / 60s", "1.5"),
            Example("7 / r.n", fails=Failure.ZERO_DIVISOR, given=_ZERO),
        ),
        python={
            (Duration, SAFE): "float({0}) / float({1})", Duration: "row_numbers.divide(float({0}), float({1}))",
            SAFE: "{0} / {1}", ELSE: "row_numbers.divide({0}, {1})",
        },
        polars={
            Duration: "column_numbers.divided(columns.micros({0}).cast(pl.Float64), "
            "columns.micros({1}).cast(pl.Float64))",
            ELSE: "column_numbers.divided({0}, {1})",
        },
        polars_fails={SAFE: "", Duration: "columns.micros({1}) == 0", ELSE: "{1} == 0"},
        spark={Duration: "(double({0}) / double({1}))", ELSE: "({0} / {1})"}, spark_fails=_BY_ZERO,
    ),
    Function(
        "floordiv", "a // b", FLOORED, says="the quotient rounded towards minus infinity, as Python's; floats too",
        method=False, failures=(Failure.ZERO_DIVISOR, Failure.OVERFLOW),
        shows=(
            Example("7 // 2", "3"),
            Example("-7 // 2", "-4"),
            Example("7 // r.n", fails=Failure.ZERO_DIVISOR, given=_ZERO),
        ),
        python={
            SAFE: "{0} // {1}", Float: "row_numbers.floordiv_float({0}, {1})",
            ELSE: "row_numbers.floordiv({0}, {1})",
        },
        polars={
            Float: Never("Polars rounds the quotient of floats where Python corrects it by the remainder"),
            Duration: "columns.micros({0}) // columns.micros({1})", ELSE: "{0} // {1:bare}",
        },
        polars_fails={
            SAFE: "", Duration: "column_numbers.floordiv_fails(columns.micros({0}), columns.micros({1}))",
            ELSE: "column_numbers.floordiv_fails({0}, {1})",
        },
    ),
    Function(
        "mod", "a % b", ARITHMETIC, says="the remainder with the sign of the divisor, as Python's; floats too",
        method=False, failures=(Failure.ZERO_DIVISOR,),
        shows=(
            Example("7 % 3", "1"),
            Example("-7 % 3", "2"),
            Example("7 % r.n", fails=Failure.ZERO_DIVISOR, given=_ZERO),
        ),
        python={SAFE: "{0} % {1}", ELSE: "row_numbers.modulo({0}, {1})"},
        polars={
            Float: Never("Polars computes the remainder of floats from a rounded quotient"), ELSE: "{0} % {1:bare}",
        },
        polars_fails={SAFE: "", ELSE: "{1} == 0"},
    ),
    Function(
        "neg", "-a", UNARY, says="the negative", method=False, failures=(Failure.OVERFLOW,),
        shows={"-(1 + 2)": "-3", "-(-9223372036854775807 - 1)": Failure.OVERFLOW},
        python={
            Float: "-{0}", Decimal: "decimals.EXACT.minus({0})", ELSE: "row_numbers.negate({0})",
        },
        polars={
            Decimal: "columns.decimal(column_numbers.negative(columns.units({0})), {precision}, {scale})",
            Duration: "columns.duration(-columns.micros({0}))", ELSE: "-{0}",
        },
        polars_fails=ABSOLUTE_FAILS,
        spark={Float: "negative({0})", ELSE: "try_subtract(0L, {0})"}, spark_fails=OVERFLOWS,
    ),
    Function(
        "abs", "(a)", UNARY, says="the magnitude", failures=(Failure.OVERFLOW,),
        shows={"abs(-3)": "3", "abs(-9223372036854775807 - 1)": Failure.OVERFLOW},
        python={Float: "abs({0})", Decimal: "decimals.EXACT.abs({0})", ELSE: "row_numbers.absolute({0})"},
        polars={
            Decimal: "columns.decimal(columns.units({0}).abs(), {precision}, {scale})",
            Duration: "columns.duration(columns.micros({0}).abs())", ELSE: "{0}.abs()",
        },
        polars_fails=ABSOLUTE_FAILS,
        spark={Float: "abs({0})", ELSE: "CASE WHEN {0} < 0 THEN try_subtract(0L, {0}) ELSE {0} END"},
        spark_fails=OVERFLOWS,
    ),
    *(
        Function(
            name, "(a)", (FLOAT,), INT, f"the whole number {says}, of 64 bits",
            failures=(Failure.BAD_CAST, Failure.OVERFLOW),
            shows={**shows, f"{name}(1e300)": Failure.OVERFLOW},
            python=f"row_numbers.{python}({{0}})",
            polars=f"{{0}}.{polars}.cast(pl.Int64, strict=False)",
            polars_fails="column_numbers.float_to_int_fails({0})",
            spark=spark, spark_fails=NO_INT,
        )
        for name, says, shows, python, polars, spark in (
            ("floor", "at or below a", {"floor(2.9)": "2", "floor(-2.1)": "-3"}, "floor", "floor()", "floor({0})"),
            ("ceil", "at or above a", {"ceil(2.1)": "3", "ceil(-2.9)": "-2"}, "ceil", "ceil()", "ceil({0})"),
            (
                "round", "nearest to a, of two the even one, as Python's",
                {"round(2.5)": "2", "round(3.5)": "4", "round(-0.6)": "-1"}, "nearest",
                'round(mode="half_to_even")', "bigint(rint({0}))",
            ),
        )
    ),
    Function(
        "sqrt", "(a)", (FLOAT,), FLOAT, "the square root; of a negative number NaN",
        shows={"sqrt(2.25)": "1.5", "sqrt(-1.0) == to_float(\"nan\")": "true"},
        python="row_numbers.sqrt({0})", polars="{0}.sqrt()", spark="sqrt({0})",
    ),
    *(
        Function(
            name, "(a)", (FLOAT,), FLOAT, f"{says}; engines may differ in its last digits, by 1e-12 of it",
            inexact=True, shows=shows, python=f"row_numbers.{name}({{0}})", polars=polars, spark=spark,
        )
        for name, says, shows, polars, spark in (
            ("exp", "e to the power of a", {"exp(0.0)": "1.0", "exp(-1e9)": "0.0"}, "{0}.exp()", "exp({0})"),
            (
                "log", "the natural logarithm; of 0 minus infinity, of a negative number NaN",
                {"log(1)": "0.0", "round(log(100) / log(10))": "2", "log(-1) == to_float(\"nan\")": "true"},
                "{0}.log()", _LOGARITHM.format("ln"),
            ),
            (
                "log10", "the logarithm to base 10, of 0 and negative numbers as `log`", {"log10(1000)": "3.0"},
                "column_numbers.log10({0})", _LOGARITHM.format("log10"),
            ),
        )
    ),
    Function(
        "pow", "(a, b)", (FLOAT, FLOAT), FLOAT,
        "a to the power of b as a float, as IEEE says; anything to the power of 0 is 1, and a negative number to the "
        "power of no whole number NaN; engines may differ in its last digits, by 1e-12 of it",
        inexact=True,
        shows={"pow(2, 10)": "1024.0", "pow(2.25, 0.5)": "1.5", "pow(-8, 0.5) == to_float(\"nan\")": "true"},
        python="row_numbers.power({0}, {1})", polars="{0}.pow({1})",
        spark="{given:then}CASE WHEN {0} = 1D OR {1} = 0D OR {0} = -1D AND abs({1}) = double('Infinity') THEN 1D "
        "ELSE power({0}, {1}) END",
    ),
    Function(
        "round_half_up", "(a, scale)", round_half_up,
        says="a decimal with at most so many digits behind the point; a half goes away from zero. It has one digit "
        "more ahead of the point",
        constants=(1,),
        shows=(
            Example("round_half_up(r.price * 1.195, 2)", '"11.95"', given=_PRICE),
            Example("round_half_up(r.price * -0.05, 0)", '"-1"', given=_PRICE),
        ),
        python="row_numbers.round_half_up({0}, {scale})",
        polars="column_numbers.round_half_up({0}, {0.scale}, {precision}, {scale})", spark="cast({0} AS {type})",
    ),
    Function(
        "quotient", "div(a, b, scale)", quotient, failures=(Failure.ZERO_DIVISOR,),
        says="the quotient of decimals or whole numbers as a decimal with so many digits behind the point; a half goes "
        "away from zero",
        constants=(2,),
        shows=(
            Example("div(r.price, 3, scale = 4)", '"3.3333"', given=_PRICE),
            Example("div(-1, 8, 2)", '"-0.13"'),
            Example("div(r.price, 0, scale = 2)", fails=Failure.ZERO_DIVISOR, given=_PRICE),
        ),
        python="row_numbers.quotient({0}, {1}, {scale})",
        polars="column_numbers.quotient({0}, {1}, {scale} + {1.scale} - {0.scale}, {precision}, {scale})",
        polars_fails={SAFE: "", ELSE: "columns.units({1}) == 0"},
    ),
)
