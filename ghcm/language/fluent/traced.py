"""Stand-ins for values: every operator on one builds the expression tree.

What Python decides by itself (`and`, `or`, `not`, `if`, `in`, `is`, loops) cannot be seen that way. Each
such use is a mistake that says what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import Literal, cast

from ghcm.errors import ProgramError
from ghcm.language import ast
from ghcm.language.fluent.operands import call_operands, infix_operands
from ghcm.language.fluent.places import here
from ghcm.language.fluent.problems import mistake
from ghcm.language.fluent.python_words import METHODS
from ghcm.language.fluent.refusals import WHY, decided, iterated
from ghcm.language.fluent.texts import mark
from ghcm.language.fluent.values import expr_of, name_of, plain
from ghcm.source import Span
from ghcm.types import Null


class Traced:
    """A value of the program that is known only when it runs; every operator on it gives another one.

    Fields are attributes (`f.src`, or `f["src"]` for a name that Python does not allow), functions of the language are
    methods (`f.src.lower()`), a null test is `f.label.is_null()` or `f.label == None`.
    """

    __slots__ = ("_ghcm",)

    def __init__(self, expr: ast.Expr) -> None:
        self._ghcm = expr

    def __ghcm_expr__(self, span: Span) -> ast.Expr:
        """The tree so far."""
        return self._ghcm

    def __repr__(self) -> str:
        return f"<value of {type(self._ghcm).__name__}>"

    __hash__ = object.__hash__

    # --- what can be traced

    def __getattr__(self, name: str) -> Traced:
        if name.startswith(("__", "_repr_", "_ipython_")):
            raise AttributeError(name)
        return _attribute(self._ghcm, plain(name))

    def __getitem__(self, name: object) -> Traced:
        if isinstance(name, slice):
            return _sliced(self._ghcm, cast("slice[object, object, object]", name))
        span = here()
        return Traced(ast.Index(self._ghcm, expr_of(name, span), span))

    def __call__(self, /, *arguments: object, **named: object) -> Traced:
        """A call of it, as an expression."""
        span = here()
        match self._ghcm:
            case ast.Attribute(of=of, name="is_null" | "is_not_null" as test) if not arguments and not named:
                return Traced(ast.IsNull(of, test == "is_not_null", span))
            case ast.Attribute(of=of, name="with") if not arguments:
                return _updated(of, named, span)
            case ast.Attribute(name="only" | "without") as method if not named:
                return Traced(ast.Apply(method, _field_names(arguments, span), None, span))
            case ast.Attribute(of=of, name=name, name_span=place) if not named and name in METHODS:
                return _said_in_python(of, name, place, span, arguments)
            case function:
                return call(function, span, *arguments, **named)

    def _compared(self, op: Literal["==", "!="], right: object) -> Traced:
        span = here()
        other = expr_of(right, infix_operands(span)[1])
        if isinstance(other, ast.Literal) and isinstance(other.type, Null):
            return Traced(ast.IsNull(self._ghcm, op == "!=", span))
        return Traced(ast.Binary(op, self._ghcm, other, span))

    def __eq__(self, other: object) -> Traced:  # type: ignore[override]
        return self._compared("==", other)

    def __ne__(self, other: object) -> Traced:  # type: ignore[override]
        return self._compared("!=", other)

    def __lt__(self, other: object) -> Traced:
        return _binary("<", self, other)

    def __le__(self, other: object) -> Traced:
        return _binary("<=", self, other)

    def __gt__(self, other: object) -> Traced:
        return _binary(">", self, other)

    def __ge__(self, other: object) -> Traced:
        return _binary(">=", self, other)

    def __add__(self, other: object) -> Traced:
        return _binary("+", self, other)

    def __radd__(self, other: object) -> Traced:
        return _binary("+", other, self)

    def __sub__(self, other: object) -> Traced:
        return _binary("-", self, other)

    def __rsub__(self, other: object) -> Traced:
        return _binary("-", other, self)

    def __mul__(self, other: object) -> Traced:
        return _binary("*", self, other)

    def __rmul__(self, other: object) -> Traced:
        return _binary("*", other, self)

    def __truediv__(self, other: object) -> Traced:
        return _binary("/", self, other)

    def __rtruediv__(self, other: object) -> Traced:
        return _binary("/", other, self)

    def __floordiv__(self, other: object) -> Traced:
        return _binary("//", self, other)

    def __rfloordiv__(self, other: object) -> Traced:
        return _binary("//", other, self)

    def __mod__(self, other: object) -> Traced:
        return _binary("%", self, other)

    def __rmod__(self, other: object) -> Traced:
        return _binary("%", other, self)

    def __and__(self, other: object) -> Traced:
        return _binary("and", self, other)

    def __rand__(self, other: object) -> Traced:
        return _binary("and", other, self)

    def __or__(self, other: object) -> Traced:
        return _binary("or", self, other)

    def __ror__(self, other: object) -> Traced:
        return _binary("or", other, self)

    def __neg__(self) -> Traced:
        return Traced(ast.Unary("-", self._ghcm, here()))

    def __invert__(self) -> Traced:
        return Traced(ast.Unary("not", self._ghcm, here()))

    def __abs__(self) -> Traced:
        span = here()
        return call(ast.Ref("abs", span), span, self)

    # --- what Python decides by itself

    def __bool__(self) -> bool:
        raise _refusal(*decided(here()))

    def __contains__(self, item: object) -> bool:
        raise _refusal('"in" cannot be traced', "write xs.contains(x)")

    def __iter__(self) -> Iterator[Traced]:
        raise _refusal(*iterated(here()))

    def __len__(self) -> int:
        raise _refusal('"len" cannot be traced', "write x.length()")

    def __round__(self, digits: object = None) -> int:
        hint = "write x.round_half_up(2) for a decimal, (x + 0.5).to_int() for another number that is not negative"
        raise _refusal('"round" cannot be traced', hint)

    def __str__(self) -> str:
        return mark(self._ghcm, here())

    def __format__(self, form: str) -> str:
        if form:
            raise _refusal(f'the format ":{form}" cannot be traced', "leave it out, or use the functions of strings")
        return mark(self._ghcm, here())

    def __int__(self) -> int:
        raise _refusal('"int" cannot be traced', "write x.to_int()")

    def __index__(self) -> int:
        raise _refusal("a value cannot be an index while it is traced", "write xs.get(i)")

    def __float__(self) -> float:
        raise _refusal('"float" cannot be traced', "write x.to_float()")


def _refusal(message: str, hint: str) -> ProgramError:
    return mistake("GHCM-130", message, here(), detail=WHY, hint=hint)


def _updated(of: ast.Expr, named: dict[str, object], span: Span) -> Traced:
    places = call_operands(span)
    fields = tuple((name_of(name, places.of(name)), expr_of(each, places.of(name))) for name, each in named.items())
    return Traced(ast.Update(of, fields, span))


def _field_names(arguments: tuple[object, ...], span: Span) -> tuple[ast.Argument, ...]:
    places = call_operands(span)
    found: list[ast.Argument] = []
    for index, each in enumerate(arguments):
        at = places.at(index)
        if not isinstance(each, str):
            raise mistake("GHCM-132", "a field is chosen by its name", at, hint='write .only("ts", "src")')
        name = name_of(each, at)
        found.append(ast.Argument(ast.Ref(name.text, at), None, at))
    return tuple(found)


def _attribute(of: ast.Expr, name: str) -> Traced:
    span = here()
    return Traced(ast.Attribute(of, name, span, Span(span.source, max(span.start, span.end - len(name)), span.end)))


def _binary(op: ast.BinaryOp, left: object, right: object) -> Traced:
    span = here()
    at_left, at_right = infix_operands(span)
    return Traced(ast.Binary(op, expr_of(left, at_left), expr_of(right, at_right), span))


def _apply(function: str, of: ast.Expr, span: Span, arguments: tuple[object, ...]) -> ast.Expr:
    given = tuple(ast.Argument(expr_of(each, span), None, span) for each in arguments)
    return ast.Apply(ast.Attribute(of, function, span), given, None, span)


def _sliced(of: ast.Expr, places: slice[object, object, object]) -> Traced:
    """`x[a:b]`, which means in Python what it means here."""
    span = here()
    if places.step is not None:
        raise mistake("GHCM-130", "a slice with a step cannot be traced", span)
    start, end = (None if each is None else expr_of(each, span) for each in (places.start, places.stop))
    return Traced(ast.Slice(of, start, end, span))


def _said_in_python(of: ast.Expr, name: str, place: Span | None, span: Span, arguments: tuple[object, ...]) -> Traced:
    """A method of Python's `str` or `bytes` by the language's name."""
    function, count, added = METHODS[name]
    if len(arguments) < count and name.endswith("strip"):
        raise mistake(
            "GHCM-130",
            f'"{name}" without characters cannot be traced',
            span,
            detail="It cuts what Unicode takes for white space; the language cuts ASCII white space.",
            hint=f"write .{function}()",
        )
    if len(arguments) != count:
        return call(ast.Attribute(of, name, span, place), span, *arguments)
    return call(ast.Attribute(of, function, span, place), span, *arguments, *added)


def length_of(value: Sized) -> object:
    """What `len` gives while a function is traced."""
    if isinstance(value, Traced):
        return Traced(_apply("length", value.__ghcm_expr__(here()), here(), ()))
    return len(value)


def call(function: ast.Expr, span: Span, /, *arguments: object, **named: object) -> Traced:
    """A call of a function or operator of the language inside an expression."""
    places = call_operands(span)
    positional = [_argument(each, None, places.at(index)) for index, each in enumerate(arguments)]
    by_name = [_argument(each, plain(name), places.of(name)) for name, each in named.items()]
    return Traced(ast.Apply(function, (*positional, *by_name), None, span))


def _argument(value: object, name: str | None, span: Span) -> ast.Argument:
    return ast.Argument(expr_of(value, span), name, span)
