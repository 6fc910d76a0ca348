"""Constants: values that the compiler knows, arguments that must be written out, and constants that a function could
not read for any record.

The table of functions says which arguments these are; here that becomes a message that points at one before anything
runs.
"""

from collections.abc import Callable, Sequence
from datetime import date

from ghcm.codes import Code
from ghcm.expr import Call, Expr, ForEach, Get, If, Let, Literal, MakeList, MakeStruct, Param, Try, Value, Var
from ghcm.functions import FAMILIES, FUNCTIONS
from ghcm.lowering.context import Context
from ghcm.source import Span
from ghcm.types import (
    INT_MAX,
    INT_MIN,
    Bool,
    Bytes,
    Date,
    Decimal,
    Duration,
    Float,
    Int,
    Int32,
    List,
    Map,
    String,
    Struct,
    Timestamp,
    Type,
    strip,
)
from ghcm.values.texts import address_text, parse_address, parse_path, parse_subnet
from ghcm.values.timestamps import read_time


class NotConstant(ValueError):
    """An expression whose value is known only when it runs."""


def constant(expr: Expr) -> Value:
    """The canonical value of an expression of literals; NotConstant for any other."""
    match expr:
        case Literal(value=value):
            return value
        case MakeStruct(values=values):
            return tuple(map(constant, values))
        case MakeList(items=items):
            return list(map(constant, items))
        case Call(function="from_micros", arguments=(micros,)):
            return constant(micros)
        case Call(function="date_of", arguments=(Literal(value=year), Literal(value=month), Literal(value=day))):
            return _day(year, month, day)
        case Call() | Get() | If() | Var() | Param() | ForEach() | Let() | Try():
            raise NotConstant


def known(call: Call) -> Expr:
    """A day or moment that is read from a constant text, as a constant; any other call as it is."""
    match call:
        case Call(function="to_date" | "to_timestamp", arguments=(Literal(value=str() as text),)):
            to = strip(call.type)
            read = read_time(text, to) if isinstance(to, Date | Timestamp) else None
            return call if read is None else Literal(read, call.type)
        case _:  # its value is known when it runs, or `constant` says it
            return call


def way_to(found: Type, to: Type) -> str:
    """What makes the one type of the other, as a hint; nothing where no function does.

    >>> way_to(Float(), Decimal(10, 2))
    'to_decimal(to_string(x), 10, 2) takes the digits that the float is written with.'

    >>> way_to(Float(), Int())
    'to_int(x) makes one of it.'
    """
    found, to = strip(found), strip(to)
    match found, to:
        case Int() | Int32(), Timestamp():
            return "from_millis(x) counts milliseconds since 1970; there are from_seconds(x) and from_micros(x) too."
        case String(), Timestamp():
            return "to_timestamp(x) reads 2026-01-02T03:04:05Z, and parse_time(x, pattern) other forms."
        case Float(), Decimal(precision, scale):
            return f"to_decimal(to_string(x), {precision}, {scale}) takes the digits that the float is written with."
        case Int() | Int32() | Decimal() | String(), Decimal(precision, scale):
            return f"to_decimal(x, {precision}, {scale}) makes one of it; a value that does not fit fails."
        case Int() | Float(), Int32():
            return 'Nothing makes an int32 of it: the field can be declared as "int".'
        case Int() | Int32() | Float() | Decimal(), Bool():
            return "x != 0 says whether there is any."
        case String(), Bool():
            return 'x == "true" compares it.'
        case Struct() | List() | Map(), String():
            return "to_json(x) writes all of it as a text."
        case _:  # one function for all of the kind, or none
            function = _MADE_BY.get((type(found), type(to)), "")
            return f"{function}(x) makes one of it." if function else ""


_MADE_BY: dict[tuple[type, type], str] = {
    **{(each, Int): "to_int" for each in (Float, Decimal, String, Bool)},
    **{(each, Float): "to_float" for each in (Int, Int32, Decimal, String)},
    **{(each, String): "to_string" for each in (Int, Int32, Float, Decimal, Bool, Timestamp, Date, Duration)},
    **{(each, Duration): "to_duration" for each in (Int, Float)},
    **{(each, Date): "to_date" for each in (Timestamp, String)},
    (Date, Timestamp): "to_timestamp",
    (String, Bytes): "to_bytes",
    (Bytes, String): "from_bytes",
    (Timestamp, Int): "to_millis",
    (Duration, Int): "to_millis",
    (Timestamp, Float): "to_seconds",
    (Duration, Float): "to_seconds",
}


def _day(*parts: Value) -> int:
    year, month, day = (part if isinstance(part, int) else 0 for part in parts)
    try:
        return date(year, month, day).toordinal() - date(1970, 1, 1).toordinal()
    except (ValueError, OverflowError):
        raise NotConstant from None


def check_written(function: str, arguments: tuple[Expr, ...], spans: Sequence[Span | None], context: Context) -> None:
    """Report what must be a constant and is none, or is one that the function cannot read whatever its types are."""
    for index in FUNCTIONS[function].constants:
        if index < len(arguments) and not isinstance(arguments[index], Literal):
            message = f'this argument of "{function}" is not a constant'
            raise context.report(Code.NOT_CONSTANT, message, spans[index], hint="It is read before anything runs.")
    for index, reader in _READERS.get(function, {}).items():
        argument = arguments[index] if index < len(arguments) else None
        if isinstance(argument, Literal) and argument.value is not None and (found := reader(argument.value)):
            raise context.report(Code.BAD_CONSTANT, found[0], spans[index], hint=found[1])


def check_read(call: Call, spans: Sequence[Span | None], context: Context) -> None:
    """Report a constant that the function of a typed call cannot read. `spans` are those of its arguments."""
    rule = FUNCTIONS[call.function].bad_constant
    types = tuple(strip(each.type) for each in call.arguments)
    values = tuple(each.value if isinstance(each, Literal) else None for each in call.arguments)
    bad = None if rule is None else rule(types, values)
    if bad is not None:
        raise context.report(Code.BAD_CONSTANT, bad.reason, spans[bad.index], hint=bad.hint)


_COMPUTED: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
}


def check_arithmetic(call: Call, span: Span | None, context: Context) -> None:
    """Report a division by the constant zero, and constants whose result does not fit: every record would fail."""
    if call.function in ("div", "floordiv", "mod") and _number(call.arguments[1]) == 0:
        detail = "Every record would fail here."
        raise context.report(Code.BAD_CONSTANT, "the divisor is zero", span, detail=detail)
    value = _number(call)
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        detail = f"It is {value}, and every record would fail here."
        raise context.report(Code.BAD_CONSTANT, "the result does not fit into int", span, detail=detail)


def _number(expr: Expr) -> int | float | None:
    """The number that an expression of constants is, None for any other."""
    match expr:
        case Literal(value=int() | float() as value, type=Int() | Float()):
            return value
        case Call(function=name, arguments=(left, right), type=Int()) if name in _COMPUTED:
            parts = (_number(left), _number(right))
            if not isinstance(parts[0], int) or not isinstance(parts[1], int):
                return None
            return None if name in ("floordiv", "mod") and parts[1] == 0 else _COMPUTED[name](parts[0], parts[1])
        case _:  # its value is known when it runs
            return None


_Reader = Callable[[object], "tuple[str, str] | None"]
"""What is wrong with a value, and a hint."""


def _address(value: object) -> tuple[str, str] | None:
    if not isinstance(value, str) or parse_address(value) is not None:
        return None
    return f'"{value}" is no IP address', "An address is written 10.0.0.1 or 2001:db8::1."


def _subnet(value: object) -> tuple[str, str] | None:
    if not isinstance(value, str) or parse_subnet(value) is not None:
        return None
    start, _, prefix = value.partition("/")
    base = parse_address(start)
    if base is None:
        return f'"{value}" is no subnet', "A subnet is written 10.0.0.0/8 or 2001:db8::/32."
    if not prefix:
        return f'"{value}" is an address and no subnet', f"The subnet of this address alone is {start}/{base.bits}."
    if not (prefix.isascii() and prefix.isdecimal() and int(prefix) <= base.bits):
        return f'"{value}" is no subnet', f"Behind the slash stands a number from 0 to {base.bits}."
    start = address_text(base.start(int(prefix)))
    return f'"{value}" has bits set behind its prefix', f"The subnet is {start}/{int(prefix)}."


def _prefix(value: object) -> tuple[str, str] | None:
    if not isinstance(value, int) or 0 <= value <= 128:
        return None
    return f"no address has {value} leading bits", "IPv4 has 32 bits, IPv6 has 128."


def _path(value: object) -> tuple[str, str] | None:
    if not isinstance(value, str) or parse_path(value) is not None:
        return None
    return f'"{value}" is no path', 'A path is written $.name[0]["any name"]; "$" is the whole text.'


_READERS: dict[str, dict[int, _Reader]] = {
    **{name: {0: _address} for name in ("ip_canonical", "ip_to_int", "is_private", "is_multicast")},
    "in_subnet": {0: _address, 1: _subnet},
    "subnet_of": {0: _address, 1: _prefix},
    **{each.name: {1: _path} for each in FAMILIES["json"]},
}
