"""Lambdas are traced: called once with stand-ins for their parameters, whose operators build the expression tree.

What Python decides by itself (`and`, `or`, `not`, `if`, `in`, `is`, loops) cannot be seen that way. Each
such use is a mistake that says what to write instead.
"""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Callable, Iterator, Sized
from types import CodeType
from typing import Literal, cast

from ghcm.errors import ProgramError
from ghcm.language import ast
from ghcm.language.fluent.operands import call_operands, infix_operands, lambda_parameters
from ghcm.language.fluent.places import columns, here, innermost, of_code, source_of
from ghcm.language.fluent.problems import keep, mistake, report
from ghcm.language.fluent.python_words import METHODS, with_words
from ghcm.language.fluent.refusals import WHY, decided, iterated
from ghcm.language.fluent.sharing import shared
from ghcm.language.fluent.texts import check_marks, mark, next_mark
from ghcm.language.fluent.values import expr_of, name_of, plain
from ghcm.source import Span
from ghcm.types import Null

__all__ = ["Traced", "call", "trace"]


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
        raise _refusal('"round" cannot be traced', "write (x + 0.5).to_int() for a number that is not negative")

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


def _length(value: Sized) -> object:
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


# --- lambdas ---------------------------------------------------------------------------------------------------------


def trace(
    function: Callable[..., object], place: Span, stand_in: Callable[[ast.Ref], object] | None = None
) -> ast.Lambda:
    """The lambda of the language that a Python function says, given at `place`. `stand_in` makes what it is called with
    of the names of its parameters, traced values unless told otherwise.

    A mistake in it is reported, and its body is null.
    """
    code: CodeType | None = getattr(function, "__code__", None)
    body = of_code(code) if code is not None else place
    written = lambda_parameters(place)
    span = place if written or code is None else body
    claims: tuple[str, ...] = getattr(function, "__ghcm_claims__", ())
    try:
        names = [ast.Name(plain(name), written.get(name, span)) for name in _parameters(function, span)]
        _check_identity(code)
        make, since = Traced if stand_in is None else stand_in, next_mark()
        result = with_words(function, _length)(*(make(ast.Ref(name.text, name.span)) for name in names))
        made = expr_of(result, body)
        check_marks(since)
        return ast.Lambda(tuple(names), shared(made) if stand_in is None else made, span, claims)
    except ProgramError as error:
        keep(error)
    except RecursionError:
        report("GHCM-131", "this function calls itself without end while it is traced", span)
    except Exception as error:  # whatever the user's own code raises is the user's to read, at its place
        place = innermost(error.__traceback__, code.co_filename if code is not None else "") or span
        hint = _PYTHON if isinstance(error, TypeError) else ""
        report("GHCM-131", f"this cannot be traced: {_said(error)}", place, hint=hint)
    return ast.Lambda((), ast.Literal(None, Null(), span), span, claims)


_PYTHON = 'what only Python can compute is a Python function: .python("module:function")'


_BUILT_IN = {
    "sum": "lambda a, b: a + b",
    "min": "lambda a, b: fn.min(a, b)",
    "max": "lambda a, b: fn.max(a, b)",
    "len": "lambda x: x.length()",
}


def _said(error: Exception) -> str:
    text = re.sub("a 'Traced' object|'Traced' object|'Traced'|type Traced", "a value", str(error))
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _parameters(function: Callable[..., object], span: Span) -> list[str]:
    """The names of the parameters without a default; one with a default is Python's way to keep a constant."""
    if inspect.isbuiltin(function) and function.__name__ in _BUILT_IN:
        hint = f"write {_BUILT_IN[function.__name__]}"
        raise mistake("GHCM-131", f'"{function.__name__}" of Python cannot be traced', span, hint=hint)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise mistake("GHCM-131", "this function cannot be traced", span, hint="write lambda x: ...") from None
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    if any(each.kind in variable and each.default is inspect.Parameter.empty for each in parameters):
        raise mistake("GHCM-131", "a lambda takes plain parameters only", span, hint="write lambda a, b: ...")
    return [each.name for each in parameters if each.default is inspect.Parameter.empty]


def _check_identity(code: CodeType | None) -> None:
    """Refuse `is`, which no object can intercept: traced, it would always be false."""
    if code is None:
        return
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IS_OP" or instruction.opname.endswith(("_IF_NONE", "_IF_NOT_NONE")):
            raise mistake(
                "GHCM-130",
                '"is" cannot be traced',
                _instruction(code, instruction),
                detail="Python compares stand-ins, so that the answer would always be the same.",
                hint="write x.is_null() or x.is_not_null()",
            )


def _instruction(code: CodeType, instruction: dis.Instruction) -> Span:
    source, at = source_of(code.co_filename), instruction.positions
    if at is None or at.lineno is None or at.end_lineno is None or at.col_offset is None or at.end_col_offset is None:
        return of_code(code)
    start, end = columns(source, at.lineno, at.col_offset), columns(source, at.end_lineno, at.end_col_offset)
    return Span(source, start, end)
