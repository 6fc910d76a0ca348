"""Lambdas are traced: called once with stand-ins for their parameters, which build the expression tree.

Every operator on a stand-in builds the tree, and every other value of Python becomes the expression that it means. What
Python decides by itself (`and`, `or`, `not`, `if`, `in`, `is`, loops) cannot be seen that way; each such use is a
mistake that says what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sized
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, EnumType
from types import CodeType
from typing import Literal, cast

from ghcm.errors import ProgramError
from ghcm.language import ast
from ghcm.language.fluent import positions, python_words, values
from ghcm.language.fluent.positions import call_operands, here, mistake
from ghcm.language.fluent.sharing import shared
from ghcm.language.fluent.values import FieldsOf, Written, later, mark, name_of, plain
from ghcm.source import Span
from ghcm.types import Bool, Null, String

_Infix = Callable[["Traced", object], "Traced"]


def _infix(op: ast.BinaryOp) -> tuple[_Infix, _Infix]:
    """An operator with the value on its left and on its right."""
    return lambda value, other: _binary(op, value, other), lambda value, other: _binary(op, other, value)


class Traced:
    """A value of the program that is known only when it runs; every operator on it gives another one.

    Fields are attributes (`f.src`, or `f["src"]` for a name that Python does not allow), functions of the language are
    methods (`f.src.lower()`), a null test is `f.label.is_null()`.
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
        span, said = here(), plain(name)
        at = Span(span.source, max(span.start, span.end - len(said)), span.end)
        return Traced(ast.Attribute(self._ghcm, said, at, span=span))

    def __getitem__(self, name: object) -> Traced:
        if isinstance(name, slice):
            return _sliced(self._ghcm, cast("slice[object, object, object]", name))
        span = here()
        return Traced(ast.Index(self._ghcm, expr_of(name, span), span=span))

    def __call__(self, /, *arguments: object, **named: object) -> Traced:
        """A call of it, as an expression."""
        span = here()
        match self._ghcm:
            case ast.Attribute(of=of, name="is_null" | "is_not_null" as test) if not arguments and not named:
                return Traced(ast.IsNull(of, test == "is_not_null", span=span))
            case ast.Attribute(of=of, name="with") if not arguments:
                return _updated(of, named, span)
            case ast.Attribute(name="only" | "without") as method if not named:
                return Traced(ast.Apply(method, _field_names(arguments, span), span=span))
            case ast.Attribute(of=of, name=name, name_span=at) if not named and name in python_words.METHODS:
                return _said_in_python(of, name, at, span, arguments)
            case function:
                return call(function, span, *arguments, **named)

    def _compared(self, op: Literal["==", "!="], right: object) -> Traced:
        span = here()
        other = expr_of(right, positions.infix_operands(span)[1])
        if isinstance(other, ast.Literal) and isinstance(other.type, Null):
            detail = "Nothing is equal to null and nothing differs from it: the comparison would always be null."
            hint = f"write {'x.is_null()' if op == '==' else 'x.is_not_null()'}"
            raise mistake("GHCM-110", "comparison with None", span, detail=detail, hint=hint)
        return Traced(ast.Binary(op, self._ghcm, other, span=span))

    def __eq__(self, other: object) -> Traced:  # type: ignore[override]
        return self._compared("==", other)

    def __ne__(self, other: object) -> Traced:  # type: ignore[override]
        return self._compared("!=", other)

    __lt__, __le__, __gt__, __ge__ = _infix("<")[0], _infix("<=")[0], _infix(">")[0], _infix(">=")[0]
    __add__, __radd__ = _infix("+")
    __sub__, __rsub__ = _infix("-")
    __mul__, __rmul__ = _infix("*")
    __truediv__, __rtruediv__ = _infix("/")
    __floordiv__, __rfloordiv__ = _infix("//")
    __mod__, __rmod__ = _infix("%")
    __and__, __rand__ = _infix("and")
    __or__, __ror__ = _infix("or")

    def __neg__(self) -> Traced:
        return Traced(ast.Unary("-", self._ghcm, span=here()))

    def __invert__(self) -> Traced:
        return Traced(ast.Unary("not", self._ghcm, span=here()))

    def __abs__(self) -> Traced:
        span = here()
        return call(ast.Ref("abs", span=span), span, self)

    # --- what Python decides by itself

    def __bool__(self) -> bool:
        raise _refusal(*python_words.decided(here()))

    def __contains__(self, item: object) -> bool:
        raise _refusal('"in" cannot be traced', "write xs.contains(x)")

    def __iter__(self) -> Iterator[Traced]:
        raise _refusal(*python_words.iterated(here()))

    def __len__(self) -> int:
        raise _refusal('"len" cannot be traced', "write x.length()")

    def __round__(self, digits: object = None) -> Traced:
        span = here()
        if digits is not None:
            raise _refusal('"round" to digits cannot be traced', "write x.round_half_up(2) for a decimal")
        return call(ast.Ref("round", span=span), span, self)

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
    return mistake("GHCM-130", message, here(), detail=python_words.WHY, hint=hint)


def _updated(of: ast.Expr, named: dict[str, object], span: Span) -> Traced:
    operands = call_operands(span)
    fields = tuple((name_of(name, operands.of(name)), expr_of(each, operands.of(name))) for name, each in named.items())
    return Traced(ast.Update(of, fields, span=span))


def _field_names(arguments: tuple[object, ...], span: Span) -> tuple[ast.Argument, ...]:
    operands = call_operands(span)
    found: list[ast.Argument] = []
    for index, each in enumerate(arguments):
        at = operands.at(index)
        if not isinstance(each, str):
            raise mistake("GHCM-132", "a field is chosen by its name", at, hint='write .only("ts", "src")')
        name = name_of(each, at)
        found.append(ast.Argument(ast.Ref(name.text, span=at), span=at))
    return tuple(found)


def _binary(op: ast.BinaryOp, left: object, right: object) -> Traced:
    span = here()
    at_left, at_right = positions.infix_operands(span)
    return Traced(ast.Binary(op, expr_of(left, at_left), expr_of(right, at_right), span=span))


def _sliced(of: ast.Expr, bounds: slice[object, object, object]) -> Traced:
    """`x[a:b]`, which means in Python what it means here."""
    span = here()
    if bounds.step is not None:
        raise mistake("GHCM-130", "a slice with a step cannot be traced", span)
    start, end = (None if each is None else expr_of(each, span) for each in (bounds.start, bounds.stop))
    return Traced(ast.Slice(of, start, end, span=span))


def _said_in_python(of: ast.Expr, name: str, at: Span | None, span: Span, arguments: tuple[object, ...]) -> Traced:
    """A method of Python's `str` or `bytes` by the language's name."""
    function, count, added = python_words.METHODS[name]
    if len(arguments) < count and name.endswith("strip"):
        message = f'"{name}" without characters cannot be traced'
        detail = "It cuts what Unicode takes for white space; the language cuts ASCII white space."
        raise mistake("GHCM-130", message, span, detail=detail, hint=f"write .{function}()")
    said, further = (function, added) if len(arguments) == count else (name, ())
    return call(ast.Attribute(of, said, at, span=span), span, *arguments, *further)


def length_of(value: Sized) -> object:
    """What `len` gives while a function is traced."""
    if not isinstance(value, Traced):
        return len(value)
    span = here()
    return Traced(ast.Apply(ast.Attribute(value.__ghcm_expr__(span), "length", span=span), (), span=span))


def call(function: ast.Expr, span: Span, /, *arguments: object, **named: object) -> Traced:
    """A call of a function or operator of the language inside an expression."""
    operands = call_operands(span)
    positional = [_argument(each, None, operands.at(index)) for index, each in enumerate(arguments)]
    by_name = [_argument(each, plain(name), operands.of(name)) for name, each in named.items()]
    return Traced(ast.Apply(function, (*positional, *by_name), span=span))


def _argument(value: object, name: str | None, span: Span) -> ast.Argument:
    return ast.Argument(expr_of(value, span), name, span=span)


def trace(
    function: Callable[..., object], given_at: Span, stand_in: Callable[[ast.Ref], object] | None = None
) -> ast.Lambda:
    """The lambda of the language that a Python function says, given where `given_at` says. `stand_in` makes what it is
    called with of the names of its parameters, traced values unless told otherwise.

    A mistake in it is reported, and its body is null.
    """
    code: CodeType | None = getattr(function, "__code__", None)
    body = positions.of_code(code) if code is not None else given_at
    written = positions.lambda_parameters(given_at)
    span = given_at if written or code is None else body
    claims: tuple[str, ...] = getattr(function, "__ghcm_claims__", ())
    try:
        names = [
            ast.Name(plain(name), span=written.get(name, span))
            for name in python_words.parameters_of_lambda(function, span)
        ]
        python_words.refuse_object_checks(code, getattr(function, "__globals__", {}))
        make, since = Traced if stand_in is None else stand_in, values.next_mark()
        result = python_words.with_words(function, length_of)(
            *(make(ast.Ref(name.text, span=name.span)) for name in names)
        )
        made = expr_of(result, body)
        values.check_marks(since)
        return ast.Lambda(tuple(names), shared(made) if stand_in is None else made, claims, span=span)
    except ProgramError as error:
        positions.keep(error)
    except RecursionError:
        positions.report("GHCM-131", "this function calls itself without end while it is traced", span)
    except Exception as error:  # whatever the user's own code raises is the user's to read, where it stands
        failed_at = positions.innermost(error.__traceback__, code.co_filename if code is not None else "") or span
        hint = _PYTHON if isinstance(error, TypeError) else ""
        if isinstance(error, NameError):
            hint = f"if it is a function of the language, write x.{error.name}(...) or fn.{error.name}(...)"
        said = _VALUE.sub("a value", positions.said(error))
        positions.report("GHCM-131", f"this cannot be traced: {said}", failed_at, hint=hint)
    return ast.Lambda((), ast.Literal(None, Null(), span=span), claims, span=span)


_VALUE = re.compile("a 'Traced' object|'Traced' object|'Traced'|type Traced")
"""How Python's messages call a stand-in."""

_PYTHON = 'what only Python can compute is a Python function: .python("module:function")'


# --- values of Python as expressions ---------------------------------------------------------------------------------


def expr_of(value: object, span: Span) -> ast.Expr:
    """The expression that a Python value stands for, used at `span`. Raises `ProgramError` where there is none."""
    match value:
        case None:
            return ast.Literal(None, Null(), span=span)
        case bool():
            return ast.Literal(value, Bool(), span=span)
        case int():
            return values.int_of(value, span)
        case float():
            return values.float_of(value, span)
        case Enum() if isinstance(value.value, str):
            return ast.Literal(str(value.value), String(), span=span)
        case str():
            return values.text_of(str(value), span)
        case timedelta():
            return values.duration_of(values.micros_of(value), span)
        case datetime():
            return values.timestamp_of(value, span)
        case tuple():
            return _tuple(cast("tuple[object, ...]", value), span)
        case list():
            return ast.ListExpr(tuple(expr_of(each, span) for each in cast("list[object]", value)), span=span)
        case dict():
            return _record(cast("dict[object, object]", value), span)
        case Decimal() if value.is_finite():
            return values.decimal_of(value, span)
        case date():
            return values.date_of(value, span)
        case bytes() | Decimal():
            raise mistake("GHCM-132", f'the language has no constant of type "{type(value).__name__}"', span)
        case _ if isinstance(value, Written) and not isinstance(value, type):
            return value.__ghcm_expr__(span)
        case EnumType():
            return later(value, span)
        case type() if hasattr(value, "__ghcm_name__"):
            name: Callable[[Span], ast.Expr] = getattr(value, "__ghcm_name__")  # noqa: B009  (pyright knows no such member)
            return name(span)
        case _ if callable(value) and not isinstance(value, type):
            return trace(value, span)
        case _:  # any other object of Python
            kind = value.__name__ if isinstance(value, type) else type(value).__name__
            hint = f"a record is written class {kind}(Record): ..." if isinstance(value, type) else ""
            raise mistake("GHCM-132", f'"{kind}" is no value of the language', span, hint=hint)


def _tuple(items: tuple[object, ...], span: Span) -> ast.Expr:
    if len(items) < 2:
        raise mistake("GHCM-112", "a tuple has at least two items", span)
    return ast.TupleExpr(tuple(expr_of(each, span) for each in items), span=span)


def _record(value: dict[object, object], span: Span) -> ast.Expr:
    for name in value:
        if not isinstance(name, str):
            raise mistake("GHCM-132", "the keys of a record are names", span, hint='write {"name": value}')
    spreads = tuple(expr_of(each, span) for name, each in value.items() if isinstance(name, FieldsOf))
    own = {str(name): each for name, each in value.items() if not isinstance(name, FieldsOf)}
    made = tuple((name_of(name, span), expr_of(each, span)) for name, each in own.items())
    return ast.RecordExpr(None, spreads, made, span=span)
