"""Lambdas are traced: called once with stand-ins for their parameters, which build the expression tree."""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Callable, Mapping
from types import CodeType

from ghcm.errors import ProgramError
from ghcm.language import ast
from ghcm.language.fluent.operands import lambda_parameters
from ghcm.language.fluent.places import columns, innermost, of_code, source_of
from ghcm.language.fluent.problems import keep, mistake, report
from ghcm.language.fluent.python_words import with_words
from ghcm.language.fluent.sharing import shared
from ghcm.language.fluent.texts import check_marks, next_mark
from ghcm.language.fluent.traced import Traced, length_of
from ghcm.language.fluent.values import expr_of, plain
from ghcm.source import Span
from ghcm.types import Null


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
        _refuse_object_checks(code, getattr(function, "__globals__", {}))
        make, since = Traced if stand_in is None else stand_in, next_mark()
        result = with_words(function, length_of)(*(make(ast.Ref(name.text, name.span)) for name in names))
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
        if isinstance(error, NameError):
            hint = f"if it is a function of the language, write x.{error.name}(...) or fn.{error.name}(...)"
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


_OF_OBJECTS = {
    "isinstance": "the types of fields are known; is_(x, Login) asks which record of a union x is",
    "type": "the types of fields are known",
    "hash": "write x.crc32() or x.md5()",
    "id": "",
}
"""Functions of Python that look at an object and not at its value."""


def _refuse_object_checks(code: CodeType | None, names: Mapping[str, object]) -> None:
    """Refuse `is` and the like, which no object can intercept: traced, they would always say the same. `names` are the
    globals, which may have a function of the user's own under such a name."""
    if code is None:
        return
    for instruction in dis.get_instructions(code):
        called = instruction.argval if instruction.opname == "LOAD_GLOBAL" else None
        if called in _OF_OBJECTS and called not in names:
            raise mistake(
                "GHCM-131",
                f'"{called}" of Python cannot be traced',
                _instruction(code, instruction),
                detail="It looks at the stand-in for a value, so that the answer would always be the same.",
                hint=_OF_OBJECTS[called],
            )
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
