"""Arithmetic, conversion and three-valued logic as SQL, where no text of the table can say it."""

from ghcm.codegen.spark.functions.emitting import Emit, Writer, by_kind, filled, plain, typed, written
from ghcm.codegen.spark.functions.texts import join_texts
from ghcm.codegen.spark.library.sql import (
    EXACT_NUMBER,
    REAL_NUMBER,
    WHOLE_NUMBER,
    bound,
    decimal_parts,
    decimal_text,
    fails,
    is_member,
    matching,
    moment_sql,
    parsed_float,
    when,
)
from ghcm.codegen.spark.names import variable
from ghcm.codegen.spark.sql import Checked, all_of, ddl, first, given, partial, pure
from ghcm.expr import Call
from ghcm.functions.arithmetic import OVERFLOWS
from ghcm.types import Decimal, Enumeration, Float, String, Timestamp, Type, strip


def _subtract(writer: Writer, call: Call) -> Checked:
    """Of two timestamps the time between them."""
    if not isinstance(strip(call.arguments[1].type), Timestamp):
        return written(writer, call)
    return filled(writer, call, "try_subtract(unix_micros({0}), unix_micros({1}))", OVERFLOWS)


def _zero(a: Checked, b: Checked) -> str | None:
    """The error where b is zero."""
    return None if b.constant else fails(all_of(*given(a), f"{b} = 0"), "zero_divisor", "division by zero")


def _below(rest: str, b: Checked) -> str:
    """Whether the quotient with that remainder is rounded down: its sign is not that of the divisor."""
    positive = isinstance(b.constant, int) and b.constant > 0
    return f"{rest} < 0" if positive else f"{rest} != 0 AND ({rest} < 0) != ({b} < 0)"


def floor_divide(a: Checked, b: Checked) -> Checked:
    """A // b as Python: the quotient rounded towards minus infinity."""
    cut = f"({a} div {b})"
    value = when(_below(f"({a} % {b})", b), f"{cut} - 1", cut)
    least = fails(f"{a} = {-(2**63)}L AND {b} = -1", "overflow", "the result does not fit into 64 bits")
    return partial(value, (a, b), _zero(a, b), None if b.constant not in (None, -1) else least)


def modulo(a: Checked, b: Checked) -> Checked:
    """A % b as Python: the remainder with the sign of b."""
    rest = f"({a} % {b})"
    return partial(when(_below(rest, b), f"{rest} + {b}", rest), (a, b), _zero(a, b))


def modulo_float(a: Checked, b: Checked) -> Checked:
    """A % b of floats as Python: the remainder with the sign of b even where it is zero."""
    rest = f"({a} % {b})"
    signed_zero = when(f"{b} < 0", "-0.0D", "0.0D")
    value = (
        f"CASE WHEN isnan({a} + {b}) THEN {a} + {b} WHEN {rest} = 0 THEN {signed_zero}"
        f" WHEN ({rest} < 0) != ({b} < 0) THEN {rest} + {b} ELSE {rest} END"
    )
    return partial(value, (a, b), _zero(a, b))


def floor_divide_float(a: Checked, b: Checked) -> Checked:
    """A // b of floats, by the steps that Python takes."""
    rest = f"({a} % {b})"
    exact = f"(({a} - {rest}) / {b})"
    exact = f"({when(f'{rest} != 0 AND ({rest} < 0) != ({b} < 0)', f'{exact} - 1.0D', exact)})"
    floor = f"({when(f'abs({exact}) < {2.0**53}D', f'double(floor({exact}))', exact)})"
    signed_zero = when(f"({a} < 0) != ({b} < 0)", "-0.0D", "0.0D")
    value = (
        f"CASE WHEN isnan({exact}) THEN {exact} WHEN {exact} = 0 THEN {signed_zero}"
        f" WHEN {exact} - {floor} > 0.5D THEN {floor} + 1.0D ELSE {floor} END"
    )
    return partial(value, (a, b), _zero(a, b))


WIDE = "decimal(38, 0)"
"""The type of sums of whole numbers, which have no bound until they are complete."""


def narrow(value: str) -> Checked:
    """A wide sum as a number of 64 bits."""
    fits = f"{value} BETWEEN {-(2**63)}BD AND {2**63 - 1}BD"
    error = fails(f"NOT ({fits})", "overflow", "the sum does not fit into 64 bits")
    return Checked(when(fits, f"bigint({value})"), error)


# --- decimals --------------------------------------------------------------------------------------------------------


def _multiply_decimal(writer: Writer, call: Call) -> Checked:
    """Both as whole numbers, and the text of the product given its exponent, where Spark would round: it counts one
    digit more than there are, and that one is too many.
    """
    one, two, result = (strip(each) for each in (call.arguments[0].type, call.arguments[1].type, call.type))
    assert isinstance(one, Decimal) and isinstance(two, Decimal) and isinstance(result, Decimal)
    a, b = map(writer.emit, call.arguments)
    if result.precision < 38 or result.scale <= 6:
        return pure(f"cast(({a} * {b}) AS {ddl(result)})", a, b)
    whole = f"({decimal_units(a.value, one)} * {decimal_units(b.value, two)})"
    return pure(decimal_of_units(whole, result), a, b)


def _divide_decimal(writer: Writer, call: Call) -> Checked:
    """Both as whole numbers, divided and rounded by what is left over: Spark rounds a quotient twice."""
    one, two, result = (strip(each) for each in (call.arguments[0].type, call.arguments[1].type, call.type))
    assert isinstance(one, Decimal) and isinstance(two, Decimal) and isinstance(result, Decimal)
    a, b = map(writer.emit, call.arguments[:2])
    shift = result.scale + two.scale - one.scale
    whole = f"cast({decimal_units(a.value, one)} AS {WIDE}) * {10 ** max(shift, 0)}BD"
    by = f"cast({decimal_units(b.value, two)} AS {WIDE}) * {10 ** max(-shift, 0)}BD"
    return partial(half_up(whole, by, result), (a, b), _zero(a, b))


def half_up(whole: str, by: str, type_: Decimal) -> str:
    """A wide whole number by another one, in smallest units of a decimal, a half away from zero."""
    above, below, size, parts, low = map(variable, ("above", "below", "size", "parts", "low"))
    up = f"if(({size} - {low} * {parts}) * 2BD >= {parts}, {low} + 1BD, {low})"
    size_up = bound(f"abs({above})", size, bound(f"abs({below})", parts, bound(floored(size, parts), low, up)))
    signed = f"cast({size_up} * if(({above} < 0) != ({below} < 0), -1BD, 1BD) AS {WIDE})"
    return decimal_of_units(bound(whole, above, bound(by, below, signed)), type_)


def floored(total: str, count: str) -> str:
    """How many times a count goes into a wide sum; Spark rounds what it divides."""
    low = f"cast(floor({total} / {count}) AS {WIDE})"
    return f"({when(f'{low} * {count} > {total}', f'{low} - 1', low)})"


def negative_decimal(a: Checked, of: Decimal, type_: Decimal) -> Checked:
    """-a of a decimal. Spark rounds it to 34 digits, so that longer ones are given another sign as text."""
    if type_.precision <= 34:
        return pure(f"negative({a})", a)
    digits = decimal_text(a.value, type_.scale)
    signed = when(f"{a} < 0", f"substring({digits}, 2)", f"concat('-', {digits})")
    return pure(f"cast({signed} AS {ddl(type_)})", a)


def magnitude_decimal(a: Checked, of: Decimal, type_: Decimal) -> Checked:
    """abs(a) of a decimal."""
    return pure(when(f"{a} < 0", negative_decimal(a, of, type_).value, a.value), a)


def decimal_units(value: str, type_: Decimal) -> str:
    """How many smallest units a decimal is, as a whole decimal of as many digits."""
    return f"cast(replace({decimal_text(value, type_.scale)}, '.', '') AS decimal({type_.precision}, 0))"


def decimal_of_units(units: str, type_: Decimal) -> str:
    """So many smallest units as a decimal."""
    return f"cast(concat(string({units}), 'E-{type_.scale}') AS {ddl(type_)})"


def int_to_decimal(a: Checked, of: Type, type_: Decimal) -> Checked:
    """A whole number with so many digits behind the point."""
    value = f"try_cast({a} AS {ddl(type_)})"
    return pure(value, a) if type_.precision - type_.scale >= 19 else partial(value, (a,), _too_wide(a, value))


def _too_wide(a: Checked, value: str) -> str:
    """The error where a cast gave nothing for something."""
    return fails(f"{a} IS NOT NULL AND {value} IS NULL", "overflow", "too many digits ahead of the point")


def decimal_to_decimal(a: Checked, of: Decimal, type_: Decimal) -> Checked:
    """The same number with other digits; lost ones fail before those that do not fit."""
    whole, least = type_.precision - type_.scale, of.precision - of.scale
    if type_.scale >= of.scale:
        value = f"try_cast({a} AS {ddl(type_)})"
        return pure(value, a) if whole >= least else partial(value, (a,), _too_wide(a, value))
    rounded = f"cast({a} AS decimal({least + 1 + type_.scale}, {type_.scale}))"
    lost = f"NOT coalesce(try_cast({rounded} AS {ddl(of)}) = {a}, {a} IS NULL)"
    value = f"try_cast({rounded} AS {ddl(type_)})"
    return partial(value, (a,), fails(lost, "bad_cast", "too many digits behind the point"), _too_wide(a, value))


# --- texts -----------------------------------------------------------------------------------------------------------


def parse_decimal(a: Checked, of: Type, type_: Decimal) -> Checked:
    """The decimal that a text holds; lost digits fail before those that do not fit."""
    value, lost, wide = decimal_parts(a.value, type_.precision, type_.scale)
    return partial(
        value,
        (a,),
        _no_number(a, EXACT_NUMBER, "decimal"),
        fails(lost, "bad_cast", "too many digits behind the point"),
        fails(wide, "overflow", "too many digits ahead of the point"),
    )


def parse_int(a: Checked) -> Checked:
    """The whole number that a text of an optional sign and ASCII digits holds."""
    value = f"try_cast({a} AS bigint)"
    big = fails(f"{a} IS NOT NULL AND {value} IS NULL", "overflow", "the number does not fit into 64 bits")
    return partial(value, (a,), _no_number(a, WHOLE_NUMBER, "int"), big)


def parse_float(a: Checked) -> Checked:
    """The float that a text holds."""
    return partial(parsed_float(a.value), (a,), _no_number(a, REAL_NUMBER, "float"))


def _no_number(a: Checked, form: str, type_: str) -> str:
    """The error where a text has not the form of a number."""
    detail = f"concat('bad_cast: \"', substring({a}, 1, 40), '\" is no {type_}')"
    return when(f"NOT {matching(a.value, form)}", detail)


def to_enum(a: Checked, of: Type, type_: Enumeration) -> Checked:
    """A text that is a value of an enum."""
    wrong = f"concat('bad_cast: \"', substring({a}, 1, 40), '\" is no value of the enum')"
    return partial(a.value, (a,), when(f"NOT {is_member(a.value, type_.values)}", wrong))


def moment_text(a: Checked) -> Checked:
    """A timestamp as 2026-01-02T03:04:05.000006Z."""
    return pure(moment_sql(a.value), a)


def text_of_decimal(a: Checked, of: Decimal, type_: Type) -> Checked:
    """A decimal with all digits of its scale."""
    return pure(decimal_text(a.value, of.scale), a)


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


EMITTERS: dict[str, Emit] = {
    "and": plain(both),
    "or": plain(either),
    "coalesce": plain(coalesce),
    "add": by_kind({String: join_texts}),
    "sub": _subtract,
    "mul": by_kind({Decimal: _multiply_decimal}),
    "floordiv": by_kind({Float: plain(floor_divide_float)}, plain(floor_divide)),
    "mod": by_kind({Float: plain(modulo_float)}, plain(modulo)),
    "quotient": _divide_decimal,
    "neg": by_kind({Decimal: typed(negative_decimal)}),
    "abs": by_kind({Decimal: typed(magnitude_decimal)}),
    "to_int": by_kind({String: plain(parse_int)}),
    "to_float": by_kind({String: plain(parse_float)}),
    "to_enum": typed(to_enum),
    "to_decimal": by_kind({String: typed(parse_decimal), Decimal: typed(decimal_to_decimal)}, typed(int_to_decimal)),
    "to_string": by_kind({Timestamp: plain(moment_text), Decimal: typed(text_of_decimal)}),
}
