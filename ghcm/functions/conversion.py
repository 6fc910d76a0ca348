"""Conversion in the table of functions.

`widen`, and `to_float` of an int, are also what the language inserts by itself.
"""

from ghcm.functions.arithmetic import ABSOLUTE_FAILS, NO_INT, OVERFLOWS
from ghcm.functions.table import ELSE, SAFE, Example, Failure, Function
from ghcm.signatures import BOOL, FLOAT, INT, STRING, Resolution, Rule, first, fixed
from ghcm.support import Never
from ghcm.types import Bool, Date, Decimal, Duration, Enumeration, Float, Int, Int32, List, String, Timestamp, Type


def widen(arguments: tuple[Type, ...]) -> Resolution | None:
    """An int32 as int."""
    return Resolution(arguments, INT) if arguments == (Int32(),) else None


def to_string(arguments: tuple[Type, ...]) -> Resolution | None:
    """A scalar that has a text form."""
    text = (
        isinstance(
            arguments[0], Bool | Int | Int32 | Float | Decimal | String | Enumeration | Timestamp | Date | Duration
        )
        if len(arguments) == 1
        else False
    )
    return Resolution(arguments, STRING) if text else None


def to_enum(arguments: tuple[Type, ...]) -> Resolution | None:
    """A text and the list of an enum's values."""
    match arguments:
        case (String(), List(item=Enumeration() as enum)):
            return Resolution(arguments, enum)
        case _:  # these do not fit
            return None


def to_decimal(arguments: tuple[Type, ...]) -> Resolution | None:
    """A number that is exact, or a text, and a list of the decimal that it becomes."""
    match arguments:
        case (Int() | Decimal() | String(), List(item=Decimal() as to)):
            return Resolution(arguments, to)
        case (Int32(), List(item=Decimal() as to) as shown):
            return Resolution((INT, shown), to)
        case _:  # these do not fit
            return None


def of_decimal(result: Type) -> Rule:
    """A decimal of whatever digits."""

    def rule(arguments: tuple[Type, ...]) -> Resolution | None:
        fits = len(arguments) == 1 and isinstance(arguments[0], Decimal)
        return Resolution(arguments, result) if fits else None

    return rule


_NO_TEXT = Never("Polars writes the exponents of floats otherwise than Python")
_NO_DECIMAL = Never("Polars reads texts as decimals of another form")

# fmt: off
TABLE = (
    Function(
        "widen", "an int32 as int", widen, says="the same number", method=False,
        shows=(Example("r.n + 1", "8", given=("{ n: int32 }", "{ n: 7 }")),),
        python="{0}", polars="{0}.cast(pl.Int64)", spark="bigint({0})",
    ),
    Function(
        "to_int", "(a)",
        first(fixed(INT, INT), fixed(INT, FLOAT), fixed(INT, STRING), fixed(INT, BOOL), of_decimal(INT)),
        says="a float or decimal cut towards zero; a string of an optional sign and ASCII digits, nothing else; true "
        "is 1",
        failures=(Failure.BAD_CAST, Failure.OVERFLOW),
        shows={
            'to_int("-42")': "-42", "to_int(2.9)": "2", 'to_int("4 2")': Failure.BAD_CAST,
            "to_int(1e300)": Failure.OVERFLOW,
        },
        python={
            Float: "row_numbers.float_to_int({0})", String: "row_numbers.string_to_int({0})",
            Bool: "int({0})", Decimal: 'row_numbers.within(int({0}), "to_int gives")', ELSE: "{0}",
        },
        polars={
            Float: "{0}.cast(pl.Int64, strict=False)", String: "{0}.cast(pl.Int64, strict=False)", Int: "{0}",
            Decimal: "column_numbers.decimal_to_int({0}, {0.scale})", ELSE: "{0}.cast(pl.Int64)",
        },
        polars_fails={
            Float: "column_numbers.float_to_int_fails({0})", String: "column_numbers.string_to_int_fails({0})",
            Decimal: "column_numbers.decimal_to_int_fails({0}, {0.scale})",
        },
        spark={Int: "{0}", Decimal: "try_cast({0} AS bigint)", ELSE: "bigint({0})"},
        spark_fails={Float: NO_INT, Decimal: OVERFLOWS},
    ),
    Function(
        "to_float", "(a)", first(fixed(FLOAT, INT), fixed(FLOAT, FLOAT), fixed(FLOAT, STRING), of_decimal(FLOAT)),
        says="the nearest double; a string in the form [+-]digits[.digits][e[+-]digits], or nan, inf, -inf",
        failures=(Failure.BAD_CAST,), shows={'to_float("1.5e3")': "1500.0", 'to_float("1,5")': Failure.BAD_CAST},
        python={String: "row_numbers.string_to_float({0})", Float: "{0}", ELSE: "float({0})"},
        polars={
            String: "{0}.cast(pl.Float64, strict=False)", Float: "{0}",
            Decimal: "column_numbers.decimal_to_float({0}, {0.scale})", ELSE: "{0}.cast(pl.Float64)",
        },
        polars_fails={
            String: "column_numbers.string_to_float_fails({0})",
            Decimal: "column_numbers.decimal_to_float_fails({0})",
        },
        spark="double({0})",
    ),
    Function(
        "to_string", "(a)", to_string,
        says="as Python's str for ints and floats; a decimal with all digits of its scale, never with an exponent; "
        "true and false; a timestamp as 2026-01-02T03:04:05.000006Z, always six decimals; a date as 2026-01-02; a "
        "duration in seconds with six decimals",
        shows={"to_string(1.0)": '"1.0"', "to_string(1500ms)": '"1.500000"'},
        python={
            Bool: '"true" if {0} else "false"', Timestamp: "timestamps.timestamp_text({0})",
            Date: "timestamps.date_text({0})", Duration: "row_numbers.duration_to_string({0})",
            Decimal: "decimals.decimal_text(decimals.at_scale({0}, {0.scale}))", String: "{0}", Enumeration: "{0}",
            ELSE: "str({0})",
        },
        polars={
            Timestamp: 'column_time.local(columns.micros({0})).dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")',
            Date: "column_time_texts.date_text({0})",
            Duration: "column_numbers.duration_to_string(columns.micros({0}))", String: "{0}", Enumeration: "{0}",
            Decimal: "column_numbers.decimal_to_string({0}, {0.scale})", Float: _NO_TEXT,
            ELSE: "{0}.cast(pl.String)",
        },
        polars_fails={
            Timestamp: "column_time.outside(columns.micros({0}))", Date: "column_time.date_outside({0})",
            Duration: ABSOLUTE_FAILS[Duration],
        },
        spark={
            Float: "float_repr({0})",
            Duration: "string((cast({0} AS decimal(19, 0)) * cast('0.000001' AS decimal(6, 6))))", ELSE: "string({0})",
        },
    ),
    Function(
        "to_decimal", "(a, digits, scale)", to_decimal,
        says="an int, a decimal or a string of an optional sign, digits and perhaps a point and digits as a "
        "decimal(digits, scale); nothing is rounded: it fails (bad_cast) where digits other than zeros would be lost "
        "behind the point, and (overflow) where those ahead of it do not fit",
        failures=(Failure.BAD_CAST, Failure.OVERFLOW), constants=(1,),
        shows=(
            Example("to_decimal(r.text, 10, 2)", '"12.30"', given=("{ text: string }", '{ text: "12.3" }')),
            Example("r.n.to_decimal(4, 2)", '"7.00"', given=("{ n: int }", "{ n: 7 }")),
            Example(
                "r.price.to_decimal(4, 1)", fails=Failure.BAD_CAST,
                given=("{ price: decimal(6, 3) }", "{ price: 1.25 }"),
            ),
            Example(
                "r.price.to_decimal(2, 1)", fails=Failure.OVERFLOW,
                given=("{ price: decimal(6, 3) }", "{ price: 12.5 }"),
            ),
        ),
        python={
            String: "row_numbers.string_to_decimal({0}, {precision}, {scale})",
            Decimal: "row_numbers.to_decimal({0}, {precision}, {scale})",
            ELSE: "row_numbers.to_decimal(Decimal({0}), {precision}, {scale})",
        },
        polars={
            String: _NO_DECIMAL,
            Decimal: "column_numbers.decimal_to_decimal({0}, {0.scale}, {precision}, {scale})",
            ELSE: "columns.decimal(column_numbers.scaled({0}.cast(pl.Int128), {scale}), {precision}, {scale})",
        },
        polars_fails={
            SAFE: "", Decimal: "column_numbers.decimal_to_decimal_fails({0}, {0.scale}, {precision}, {scale})",
            ELSE: "column_numbers.int_to_decimal_fails({0}, {precision}, {scale})",
        },
    ),
    Function(
        "to_enum", "(s, values)", to_enum,
        says="the string as a value of an enum, which is given by its name or as a list of its values; fails for any "
        "other string",
        failures=(Failure.BAD_CAST,), constants=(1,),
        shows={'to_enum("udp", ["tcp", "udp"])': '"udp"', 'to_enum("gre", ["tcp", "udp"])': Failure.BAD_CAST},
        python="row_numbers.to_enum({0}, {1})",
    ),
)
