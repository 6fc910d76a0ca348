"""Expressions as Python: total over `ghcm.functions.FUNCTIONS`, plain operators where nothing can go wrong, checked helpers where it can.

An argument that may be null is tested first; arguments are evaluated from the left, all of them where one could fail, so that a record fails here
exactly when it fails in the reference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal as Number
from typing import assert_never

from ghcm.codegen.expressions import can_fail, constant, plainly_ordered
from ghcm.codegen.native.names import Names
from ghcm.codegen.native.patterns import python_pattern
from ghcm.expr import Call, Expr, Get, If, Literal, MakeList, MakeStruct, Param, Var
from ghcm.functions import FUNCTIONS, Nulls
from ghcm.types import Bool, Date, Duration, Float, Int, Int32, List, Map, Nullable, String, Struct, Timestamp, Type, is_nullable, strip

__all__ = ["HANDLED", "ROW_FUNCTIONS", "Binding", "Code", "Module", "RowScope", "literal", "order_text"]

# Python's precedences, loosest first.
_NAMED, _IF, _OR, _AND, _NOT, _COMPARE, _BITOR, _SUM, _PRODUCT, _UNARY, _ATOM = range(11)


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of Python and how tightly it binds."""

    text: str
    level: int = _ATOM
    simple: bool = False
    """Whether it may be repeated: a name, a literal or a subscript of one."""
    written: bool = False
    """Whether it is a literal other than `None`; Python warns where one is compared with `is`."""

    def at(self, level: int) -> str:
        """The text, in parentheses where a place of this precedence needs them."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def inner(self) -> str:
        """The text where a comma or a bracket ends it."""
        return self.at(_IF)


@dataclass(frozen=True, slots=True)
class Binding:
    """What a variable of a lambda is in the code: one value, or the columns of a record."""

    value: Code | None = None
    columns: Mapping[str, Code] = field(default_factory=dict)

    def whole(self) -> Code:
        """The value, made from the columns where it exists only in parts."""
        if self.value is not None:
            return self.value
        inner = ", ".join(column.inner for column in self.columns.values())
        return Code(f"({inner},)" if len(self.columns) == 1 else f"({inner})")


class Module:
    """What stands above the functions of a generated module: constants such as compiled patterns, made once each."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.constants: dict[str, str] = {}

    def constant(self, wish: str, text: str) -> str:
        """The name of a module constant of that text."""
        for name, known in self.constants.items():
            if known == text:
                return name
        name = self.names.new(wish)
        self.constants[name] = text
        return name

    def order(self, type_: Type) -> str:
        """The name of the sort key of a type."""
        text = order_text(type_)
        return text if "(" not in text else self.constant("_order", text)


@dataclass
class RowScope:
    """The expressions of one generated function: its names, and the variables of lambdas that stand in it."""

    module: Module
    names: Names
    bindings: dict[str, Binding] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)

    def bind(self, variable: Var, binding: Binding) -> None:
        """Let a variable stand for something from here on."""
        self.bindings[variable.name] = binding

    def value(self, expr: Expr) -> Code:
        """The code of an expression."""
        match expr:
            case Literal(value=value, type=type_):
                return literal(value, type_)
            case Var(name=name):
                return self.bindings[name].whole()
            case Param(name=name):
                return Code(self.parameters.setdefault(name, self.names.new(name)), simple=True)
            case Get():
                return self._get(expr)
            case Call():
                return self._call(expr)
            case If(condition=condition, then=then, otherwise=otherwise):
                test = self.truth(condition)
                return Code(f"{self.value(then).at(_OR)} if {test.at(_OR)} else {self.value(otherwise).at(_IF)}", _IF)
            case MakeStruct(values=values):
                parts = [self.value(each).inner for each in values]
                return Code(f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})")
            case MakeList(items=items):
                return Code(f"[{', '.join(self.value(each).inner for each in items)}]")
            case _:
                assert_never(expr)

    def truth(self, expr: Expr) -> Code:
        """Code that Python takes for true exactly where the expression is true."""
        if isinstance(expr, Call):
            match expr.function:
                case "or":
                    left, right = map(self.truth, expr.arguments)
                    return Code(f"{left.at(_OR)} or {right.at(_OR)}", _OR)
                case "and" if not is_nullable(expr.arguments[0].type) or not can_fail(expr.arguments[1]):
                    left, right = map(self.truth, expr.arguments)
                    return Code(f"{left.at(_AND)} and {right.at(_AND)}", _AND)
                case "not" if is_nullable(expr.arguments[0].type):
                    return Code(f"{self.value(expr.arguments[0]).at(_BITOR)} is False", _COMPARE)
                case _:
                    if is_nullable(expr.type) and FUNCTIONS[expr.function].nulls is Nulls.PROPAGATE and not can_fail(expr):
                        return self._true_where_present(expr)
        return self.value(expr)

    def temporary(self, code: Code, wish: str = "t") -> tuple[str, str]:
        """Code that keeps the value and code that repeats it; the same where it is cheap to repeat."""
        if code.simple and not code.written:
            return code.text, code.text
        name = self.names.new(wish)
        return f"({name} := {code.inner})", name

    # --- parts -------------------------------------------------------------------------------------------------------

    def _get(self, expr: Get) -> Code:
        if isinstance(expr.of, Var):
            binding = self.bindings[expr.of.name]
            if binding.value is None:
                return binding.columns[expr.field]
        struct = strip(expr.of.type)
        assert isinstance(struct, Struct)
        index = struct.index(expr.field)
        of = self.value(expr.of)
        if not is_nullable(expr.of.type):
            return Code(f"{of.at(_ATOM)}[{index}]", simple=of.simple)
        first, again = self.temporary(of)
        return Code(f"None if {first} is None else {again}[{index}]", _IF)

    def _call(self, expr: Call) -> Code:
        if FUNCTIONS[expr.function].nulls is Nulls.HANDLED:
            return HANDLED[expr.function](self, expr)
        nullable = any(is_nullable(each.type) for each in expr.arguments)
        codes = [self.value(each) for each in expr.arguments]
        if not nullable:
            return ROW_FUNCTIONS[expr.function](self, expr, codes)
        tests, known = self._tests(expr, codes)
        if not tests:
            return ROW_FUNCTIONS[expr.function](self, expr, known)
        inner = ROW_FUNCTIONS[expr.function](self, expr, known)
        return Code(f"None if {tests} else {inner.at(_IF)}", _IF)

    def _tests(self, expr: Call, codes: list[Code]) -> tuple[str, list[Code]]:
        """Whether any argument is null, all evaluated from the left; and the arguments as they are known behind that test."""
        partial = [can_fail(each) for each in expr.arguments]
        needed = [_perhaps_null(each) or fails for each, fails in zip(expr.arguments, partial, strict=True)]
        every = True in needed and any(partial[needed.index(True) + 1 :])
        tests, known = [], []
        for code, need in zip(codes, needed, strict=True):
            if not need:
                known.append(code)
                continue
            first, again = self.temporary(code)
            tests.append(f"({first} is None)" if every else f"{first} is None")
            known.append(Code(again, simple=True))
        return (" | " if every else " or ").join(tests), known

    def _true_where_present(self, expr: Call) -> Code:
        tests, known = [], []
        for each in expr.arguments:
            code = self.value(each)
            if _perhaps_null(each):
                first, again = self.temporary(code)
                tests.append(f"{first} is not None")
                known.append(Code(again, simple=True))
            else:
                known.append(code)
        inner = ROW_FUNCTIONS[expr.function](self, expr, known)
        return Code(" and ".join([*tests, inner.at(_AND)]), _AND)


# --- literals and orders ---------------------------------------------------------------------------------------------


def literal(value: object, type_: Type) -> Code:
    """A canonical value as Python writes it."""
    match strip(type_):
        case Struct(fields=fields) if value is not None:
            parts = [literal(each, part.type).text for each, part in zip(value, fields, strict=True)]  # type: ignore[call-overload]
            return Code(f"({', '.join(parts)}{',' if len(parts) == 1 else ''})")
        case List(item=item) if value is not None:
            return Code(f"[{', '.join(literal(each, item).text for each in value)}]")  # type: ignore[attr-defined]
    match value:
        case float() if math.isnan(value):
            return Code("math.nan", simple=True)
        case float() if math.isinf(value):
            return Code("math.inf" if value > 0 else "-math.inf", _ATOM if value > 0 else _UNARY, simple=value > 0)
        case Number():
            return Code(f'Decimal("{value}")')
        case bool() | None:
            return Code(repr(value), simple=True, written=value is not None)
        case int() | float():
            negative = repr(value).startswith("-")
            text = f"{value:_}" if isinstance(value, int) and abs(value) >= 100_000 else repr(value)
            return Code(text, _UNARY if negative else _ATOM, simple=not negative, written=True)
        case str() | bytes():
            return Code(_quoted(value), simple=True, written=True)
        case dict():
            return Code(repr(value))
        case _:
            raise TypeError(f"no literal of {type_} is {value!r}")


def _quoted(value: str | bytes) -> str:
    """As Python writes it, in double quotes where that needs no more escapes."""
    text = repr(value)
    prefix, body = ("b", text[2:-1]) if isinstance(value, bytes) else ("", text[1:-1])
    return text if '"' in body or "\\'" in body else f'{prefix}"{body}"'


def order_text(type_: Type) -> str:
    """The sort key of a type, as a call of `ghcm.runtime.native.order`."""
    if plainly_ordered(type_) and not isinstance(type_, List | Struct):
        return "order.plain"
    match type_:
        case Nullable(of=of):
            return f"order.nullable({order_text(of)})"
        case Float():
            return "order.floating"
        case List(item=item):
            return f"order.items({order_text(item)})"
        case Struct(fields=fields):
            return f"order.struct({', '.join(order_text(part.type) for part in fields)})"
        case Map(key=key, value=value):
            return f"order.pairs({order_text(key)}, {order_text(value)})"
        case _:
            return "order.plain"


# --- functions that mind nulls themselves ----------------------------------------------------------------------------


def _and(scope: RowScope, expr: Call) -> Code:
    left, right = expr.arguments
    if not is_nullable(left.type):
        return Code(f"{scope.value(left).at(_AND)} and {scope.value(right).at(_AND)}", _AND)
    (first, one), (second, two) = scope.temporary(scope.value(left)), scope.temporary(scope.value(right))
    return Code(f"False if {first} is False or {second} is False else {one} and {two}", _IF)


def _or(scope: RowScope, expr: Call) -> Code:
    left, right = expr.arguments
    if not is_nullable(left.type):
        return Code(f"{scope.value(left).at(_OR)} or {scope.value(right).at(_OR)}", _OR)
    (first, one), (second, two) = scope.temporary(scope.value(left)), scope.temporary(scope.value(right))
    return Code(f"True if {first} or {second} else None if {one} is None else {two}", _IF)


def _perhaps_null(expr: Expr) -> bool:
    """Whether a value has to be looked at: its type allows null, and it is not written there."""
    return is_nullable(expr.type) and not (isinstance(expr, Literal) and expr.value is not None)


def _is_null(scope: RowScope, expr: Call) -> Code:
    (argument,) = expr.arguments
    if isinstance(argument, Literal):
        return Code(repr(argument.value is None))
    return Code(f"{scope.temporary(scope.value(argument), 'found')[0]} is None", _COMPARE)


def _is_not_null(scope: RowScope, expr: Call) -> Code:
    (argument,) = expr.arguments
    if isinstance(argument, Literal):
        return Code(repr(argument.value is not None))
    return Code(f"{scope.temporary(scope.value(argument), 'found')[0]} is not None", _COMPARE)


def _coalesce(scope: RowScope, expr: Call) -> Code:
    *earlier, last = expr.arguments
    code = scope.value(last)
    for each in reversed(earlier):
        if not _perhaps_null(each):
            code = scope.value(each)
            continue
        first, again = scope.temporary(scope.value(each))
        code = Code(f"{again} if {first} is not None else {code.at(_IF)}", _IF)
    return code


HANDLED: dict[str, Callable[[RowScope, Call], Code]] = {
    "and": _and,
    "or": _or,
    "is_null": _is_null,
    "is_not_null": _is_not_null,
    "coalesce": _coalesce,
    "known": lambda scope, expr: scope.value(expr.arguments[0]),
}


# --- functions of values that are there ------------------------------------------------------------------------------

Emit = Callable[[RowScope, Call, list[Code]], Code]


def _helper(name: str, *arguments: Code) -> Code:
    return Code(f"checked.{name}({', '.join(argument.inner for argument in arguments)})")


def _infix(operator: str, level: int, left: Code, right: Code) -> Code:
    return Code(f"{left.at(level)} {operator} {right.at(level + 1)}", level)


def _kind(expr: Call) -> Type:
    return strip(expr.arguments[0].type)


def _arithmetic(operator: str, level: int, checked: str) -> Emit:
    def emit(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
        return _infix(operator, level, *codes) if isinstance(_kind(expr), Float | String) else _helper(checked, *codes)

    return emit


def _divide(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
    return _infix("/", _PRODUCT, *codes) if constant(expr.arguments[1]) else _helper("divide", *codes)


def _floordiv(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
    divisor = constant(expr.arguments[1])
    if divisor and (divisor != -1 or isinstance(_kind(expr), Float)):
        return _infix("//", _PRODUCT, *codes)
    return _helper("floordiv_float" if isinstance(_kind(expr), Float) else "floordiv", *codes)


def _modulo(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
    return _infix("%", _PRODUCT, *codes) if constant(expr.arguments[1]) else _helper("modulo", *codes)


def _negate(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
    return Code(f"-{codes[0].at(_UNARY)}", _UNARY) if isinstance(_kind(expr), Float) else _helper("negate", *codes)


def _absolute(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
    return Code(f"abs({codes[0].inner})") if isinstance(_kind(expr), Float) else _helper("absolute", *codes)


def _comparison(operator: str, floating: Callable[[Code, Code], Code]) -> Emit:
    def emit(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
        kind = _kind(expr)
        left, right = codes
        if isinstance(kind, Float) and not _is_number(expr, operator):
            return floating(left, right)
        if not plainly_ordered(kind) and not isinstance(kind, Float):
            order = scope.module.order(kind)
            left, right = Code(f"{order}({left.inner})"), Code(f"{order}({right.inner})")
        return Code(f"{left.at(_BITOR)} {operator} {right.at(_BITOR)}", _COMPARE)

    return emit


def _is_number(expr: Call, operator: str) -> bool:
    """Whether a comparison of floats has a constant on a side where NaN on the other gives Python's False and the language's False alike."""
    left, right = (constant(each) for each in expr.arguments)
    on_right = isinstance(right, float) and not math.isnan(right) and operator in ("==", "<", "<=", "!=")
    on_left = isinstance(left, float) and not math.isnan(left) and operator in ("==", ">", ">=", "!=")
    return on_right or on_left


def _not(code: Code) -> Code:
    return Code(f"not {code.at(_NOT)}", _NOT)


def _extreme(plain: str, floating: str) -> Emit:
    def emit(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
        kind = _kind(expr)
        if isinstance(kind, Float):
            return _helper(floating, *codes)
        key = "" if plainly_ordered(kind) else f", key={scope.module.order(kind)}"
        return Code(f"{plain}({codes[0].inner}, {codes[1].inner}{key})")

    return emit


def _to_int(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
    match _kind(expr):
        case Float():
            return _helper("float_to_int", *codes)
        case String():
            return _helper("string_to_int", *codes)
        case Bool():
            return Code(f"int({codes[0].inner})")
        case _:
            return codes[0]


def _to_float(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
    match _kind(expr):
        case String():
            return _helper("string_to_float", *codes)
        case Int() | Int32():
            return Code(f"float({codes[0].inner})")
        case _:
            return codes[0]


def _to_string(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
    match _kind(expr):
        case Bool():
            return Code(f'"true" if {codes[0].at(_OR)} else "false"', _IF)
        case Timestamp():
            return _helper("timestamp_to_string", *codes)
        case Date():
            return _helper("date_to_string", *codes)
        case Duration():
            return _helper("duration_to_string", *codes)
        case String():
            return codes[0]
        case _:
            return Code(f"str({codes[0].inner})")


def _method(name: str) -> Emit:
    def emit(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
        subject, *others = codes
        return Code(f"{subject.at(_ATOM)}.{name}({', '.join(each.inner for each in others)})")

    return emit


def _call_of(name: str) -> Emit:
    return lambda scope, expr, codes: _helper(name, *codes)


def _contains(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
    kind, (where, what) = _kind(expr), codes
    if isinstance(kind, List) and isinstance(kind.item, Float):
        return _helper("list_contains", where, what)
    if isinstance(kind, List) and not plainly_ordered(kind.item):
        order = scope.module.order(kind.item)
        return Code(f"{order}({what.inner}) in map({order}, {where.inner})", _COMPARE)
    return Code(f"{what.at(_BITOR)} in {where.at(_BITOR)}", _COMPARE)


def _replace(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
    return _method("replace")(scope, expr, codes) if constant(expr.arguments[1]) else _helper("replace", *codes)


def _split(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
    return _method("split")(scope, expr, codes) if constant(expr.arguments[1]) else _helper("split", *codes)


def _pattern(scope: RowScope, expr: Call, codes: list[Code], method: str) -> str:
    text = constant(expr.arguments[1])
    if isinstance(text, str):
        name = scope.module.constant("_pattern", f"re.compile({_raw(python_pattern(text))}, re.ASCII)")
        return f"{name}.{method}({codes[0].inner})"
    return f"checked.pattern({codes[1].inner}).{method}({codes[0].inner})"


def _raw(pattern: str) -> str:
    """The pattern as a raw string where it can be one."""
    plain = '"' not in pattern and not pattern.endswith("\\") and pattern.isprintable()
    return f'r"{pattern}"' if plain else _quoted(pattern)


def _matches(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
    return Code(f"{_pattern(scope, expr, codes, 'search')} is not None", _COMPARE)


def _extract_all(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
    return Code(_pattern(scope, expr, codes, "findall"))


def _same(scope: RowScope, expr: Call, codes: list[Code]) -> Code:
    return codes[0]


ROW_FUNCTIONS: dict[str, Emit] = {
    "add": _arithmetic("+", _SUM, "add"),
    "sub": _arithmetic("-", _SUM, "subtract"),
    "mul": _arithmetic("*", _PRODUCT, "multiply"),
    "div": _divide,
    "floordiv": _floordiv,
    "mod": _modulo,
    "neg": _negate,
    "abs": _absolute,
    "eq": _comparison("==", lambda left, right: _helper("equal", left, right)),
    "ne": _comparison("!=", lambda left, right: _not(_helper("equal", left, right))),
    "lt": _comparison("<", lambda left, right: _helper("less", left, right)),
    "le": _comparison("<=", lambda left, right: _helper("less_or_equal", left, right)),
    "gt": _comparison(">", lambda left, right: _helper("less", right, left)),
    "ge": _comparison(">=", lambda left, right: _helper("less_or_equal", right, left)),
    "least": _extreme("min", "least"),
    "greatest": _extreme("max", "greatest"),
    "not": lambda scope, expr, codes: _not(codes[0]),
    "widen": _same,
    "to_int": _to_int,
    "to_float": _to_float,
    "to_string": _to_string,
    "length": lambda scope, expr, codes: Code(f"len({codes[0].inner})"),
    "lower": _method("lower"),
    "upper": _method("upper"),
    "trim": lambda scope, expr, codes: Code(f'{codes[0].at(_ATOM)}.strip(" \\t\\n\\r\\v\\f")'),
    "starts_with": _method("startswith"),
    "ends_with": _method("endswith"),
    "contains": _contains,
    "replace": _replace,
    "substring": _call_of("substring"),
    "split": _split,
    "matches": _matches,
    "extract_all": _extract_all,
    "get": _call_of("item"),
    "truncate": _call_of("truncate"),
    "to_micros": _same,
    "from_micros": _same,
}
"""The functions that propagate nulls, by name; those that do not are handled above."""
