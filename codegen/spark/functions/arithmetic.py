"""Arithmetic as SQL: overflow and zero divisors fail."""

from __future__ import annotations

from dataclasses import replace

from ghcm.codegen.spark.functions.emitting import Emit, Writer, by_kind, plain, typed
from ghcm.codegen.spark.functions.lists import join_lists
from ghcm.codegen.spark.functions.strings import join_texts
from ghcm.codegen.spark.functions.time_numbers import from_micros, micros
from ghcm.codegen.spark.library.sql import decimal_text, fails, when
from ghcm.codegen.spark.sql import Checked, all_of, ddl, given, overflows, partial, pure
from ghcm.expr import Call
from ghcm.types import Decimal, Duration, Float, List, String, Timestamp, Type, strip


def add(a: Checked, b: Checked) -> Checked:
    """A + b in 64 bits; overflow fails."""
    value = f"try_add({a}, {b})"
    return partial(value, (a, b), overflows(value, a, b))


def subtract(a: Checked, b: Checked) -> Checked:
    """A - b in 64 bits; overflow fails."""
    value = f"try_subtract({a}, {b})"
    return partial(value, (a, b), overflows(value, a, b))


def multiply(a: Checked, b: Checked) -> Checked:
    """A * b in 64 bits; overflow fails."""
    value = f"try_multiply({a}, {b})"
    return partial(value, (a, b), overflows(value, a, b))


def negative(a: Checked) -> Checked:
    """-a in 64 bits; overflow fails."""
    value = f"try_subtract(0L, {a})"
    return partial(value, (a,), overflows(value, a))


def magnitude(a: Checked) -> Checked:
    """abs(a) in 64 bits; overflow fails."""
    value = when(f"{a} < 0", f"try_subtract(0L, {a})", a.value)
    return partial(value, (a,), overflows(value, a))


def zero(a: Checked, b: Checked) -> str | None:
    """The error where b is zero."""
    return None if b.constant else fails(all_of(*given(a), f"{b} = 0"), "zero_divisor", "division by zero")


def floor_divide(a: Checked, b: Checked) -> Checked:
    """A // b as Python: the quotient rounded towards minus infinity."""
    cut, rest = f"({a} div {b})", f"({a} % {b})"
    below = f"{rest} < 0" if is_positive(b) else f"{rest} != 0 AND ({rest} < 0) != ({b} < 0)"
    value = when(below, f"{cut} - 1", cut)
    least = fails(f"{a} = {-(2**63)}L AND {b} = -1", "overflow", "the result does not fit into 64 bits")
    return partial(value, (a, b), zero(a, b), None if b.constant not in (None, -1) else least)


def modulo(a: Checked, b: Checked) -> Checked:
    """A % b as Python: the remainder with the sign of b."""
    rest = f"({a} % {b})"
    below = f"{rest} < 0" if is_positive(b) else f"{rest} != 0 AND ({rest} < 0) != ({b} < 0)"
    return partial(when(below, f"{rest} + {b}", rest), (a, b), zero(a, b))


def is_positive(a: Checked) -> bool:
    """Whether it is a whole number known to be greater than zero."""
    return isinstance(a.constant, int) and a.constant > 0


def divide(a: Checked, b: Checked) -> Checked:
    """A / b of floats; a zero divisor fails."""
    return partial(f"({a} / {b})", (a, b), zero(a, b))


def ratio(a: Checked, b: Checked) -> Checked:
    """A / b of durations (microseconds), as floats; a zero divisor fails."""
    return partial(f"(double({a}) / double({b}))", (a, b), zero(a, b))


def add_float(a: Checked, b: Checked) -> Checked:
    """A + b of floats."""
    return pure(f"({a} + {b})", a, b)


def subtract_float(a: Checked, b: Checked) -> Checked:
    """A - b of floats."""
    return pure(f"({a} - {b})", a, b)


def multiply_float(a: Checked, b: Checked) -> Checked:
    """A * b of floats."""
    return pure(f"({a} * {b})", a, b)


def negative_float(a: Checked) -> Checked:
    """-a of a float."""
    return pure(f"negative({a})", a)


def magnitude_float(a: Checked) -> Checked:
    """abs(a) of a float."""
    return pure(f"abs({a})", a)


def modulo_float(a: Checked, b: Checked) -> Checked:
    """A % b of floats as Python: the remainder with the sign of b even where it is zero."""
    rest = f"({a} % {b})"
    signed_zero = when(f"{b} < 0", "-0.0D", "0.0D")
    value = (
        f"CASE WHEN isnan({a} + {b}) THEN {a} + {b} WHEN {rest} = 0 THEN {signed_zero}"
        f" WHEN ({rest} < 0) != ({b} < 0) THEN {rest} + {b} ELSE {rest} END"
    )
    return partial(value, (a, b), zero(a, b))


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
    return partial(value, (a, b), zero(a, b))


def later(a: Checked, b: Checked) -> Checked:
    """A timestamp and a duration (microseconds) after it; overflow fails."""
    return from_micros(add(micros(a), b))


def earlier(a: Checked, b: Checked) -> Checked:
    """A timestamp and a duration (microseconds) before it; overflow fails."""
    return from_micros(subtract(micros(a), b))


def between(a: Checked, b: Checked) -> Checked:
    """The duration (microseconds) from timestamp b to timestamp a; overflow fails."""
    return subtract(micros(a), micros(b))


def add_decimal(a: Checked, b: Checked, type_: Decimal) -> Checked:
    """A + b of decimals; the type has digits enough."""
    return pure(f"cast(({a} + {b}) AS {ddl(type_)})", a, b)


def subtract_decimal(a: Checked, b: Checked, type_: Decimal) -> Checked:
    """A - b of decimals; the type has digits enough."""
    return pure(f"cast(({a} - {b}) AS {ddl(type_)})", a, b)


def multiply_decimal(a: Checked, b: Checked, one: Decimal, two: Decimal, type_: Decimal) -> Checked:
    """A * b of decimals; the type has digits enough. Spark counts one more, and rounds where that is one too many: then
    both are multiplied as whole numbers, and the text of that is given its exponent.
    """
    if type_.precision < 38 or type_.scale <= 6:
        return pure(f"cast(({a} * {b}) AS {ddl(type_)})", a, b)
    whole = f"({decimal_units(a.value, one)} * {decimal_units(b.value, two)})"
    return pure(decimal_of_units(whole, type_), a, b)


def negative_decimal(a: Checked, type_: Decimal) -> Checked:
    """-a of a decimal. Spark rounds it to 34 digits, so that longer ones are given another sign as text."""
    if type_.precision <= 34:
        return pure(f"negative({a})", a)
    digits = decimal_text(a.value, type_.scale)
    signed = when(f"{a} < 0", f"substring({digits}, 2)", f"concat('-', {digits})")
    return pure(f"cast({signed} AS {ddl(type_)})", a)


def magnitude_decimal(a: Checked, type_: Decimal) -> Checked:
    """abs(a) of a decimal."""
    return pure(when(f"{a} < 0", negative_decimal(a, type_).value, a.value), a)


def decimal_units(value: str, type_: Decimal) -> str:
    """How many smallest units a decimal is, as a whole decimal of as many digits."""
    return f"cast(replace({decimal_text(value, type_.scale)}, '.', '') AS decimal({type_.precision}, 0))"


def decimal_of_units(units: str, type_: Decimal) -> str:
    """So many smallest units as a decimal."""
    return f"cast(concat(string({units}), 'E-{type_.scale}') AS {ddl(type_)})"


def round_half_up(a: Checked, type_: Decimal) -> Checked:
    """A decimal with fewer digits behind the point; Spark's casts round like this."""
    return pure(f"cast({a} AS {ddl(type_)})", a)


def _multiply(writer: Writer, call: Call) -> Checked:
    """Both types are said too: Spark would round the product of decimals that have all digits together."""
    one, two, result = (strip(each) for each in (call.arguments[0].type, call.arguments[1].type, call.type))
    left, right = map(writer.emit, call.arguments)
    if isinstance(one, Float):
        return multiply_float(left, right)
    if isinstance(one, Decimal) and isinstance(two, Decimal) and isinstance(result, Decimal):
        return multiply_decimal(left, right, one, two, result)
    return multiply(left, right)


def _subtract(writer: Writer, call: Call) -> Checked:
    left, right = map(writer.emit, call.arguments)
    match strip(call.arguments[0].type), strip(call.arguments[1].type), strip(call.type):
        case Timestamp(), Timestamp(), _:
            return between(left, right)
        case Timestamp(), _, _:
            return earlier(left, right)
        case Float(), _, _:
            return subtract_float(left, right)
        case Decimal(), _, Decimal() as result:
            return subtract_decimal(left, right, result)
        case _:  # whole numbers and durations
            return subtract(left, right)


_ADDED: dict[type[Type], Emit] = {
    Decimal: typed(add_decimal),
    Float: plain(add_float),
    String: join_texts,
    Timestamp: plain(later),
    List: plain(join_lists),
}

EMITTERS: dict[str, Emit] = {
    "add": by_kind(_ADDED, plain(add)),
    "sub": _subtract,
    "mul": _multiply,
    "div": by_kind({Duration: plain(ratio)}, plain(divide)),
    "floordiv": by_kind({Float: plain(floor_divide_float)}, plain(floor_divide)),
    "mod": by_kind({Float: plain(modulo_float)}, plain(modulo)),
    "neg": by_kind({Decimal: typed(negative_decimal), Float: plain(negative_float)}, plain(negative)),
    "abs": by_kind({Decimal: typed(magnitude_decimal), Float: plain(magnitude_float)}, plain(magnitude)),
    "round_half_up": lambda writer, call: typed(round_half_up)(writer, replace(call, arguments=call.arguments[:1])),
}
