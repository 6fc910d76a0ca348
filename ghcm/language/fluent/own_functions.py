"""Functions of the program, written in Python: traced once, called by name wherever a lambda calls them."""

from __future__ import annotations

import inspect
from typing import Any

from ghcm.language import ast
from ghcm.language.fluent.annotations import type_of
from ghcm.language.fluent.definitions import definition
from ghcm.language.fluent.places import here
from ghcm.language.fluent.problems import mistake
from ghcm.language.fluent.references import later, next_order
from ghcm.language.fluent.traced import call
from ghcm.language.fluent.tracing import trace
from ghcm.language.fluent.units import Function, hints_of, parameters_of
from ghcm.language.fluent.values import Written, name_of
from ghcm.source import Span


class OwnFunction:
    """A function of the program. In a lambda it is called by name; with plain values it is the Python function."""

    __slots__ = ("__ghcm_function__", "__weakref__", "order")

    def __init__(self, function: Function, span: Span) -> None:
        if not inspect.isfunction(function):
            raise mistake("GHCM-134", "this is no function", span, hint="write @program.function above a def")
        self.__ghcm_function__ = function
        self.order = next_order()

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(self.__ghcm_function__.__name__)

    def __ghcm_expr__(self, span: Span) -> ast.Expr:
        """Its name, once it is known."""
        return later(self, span)

    def __call__(self, /, *arguments: object, **named: object) -> Any:
        """A call of it: an expression where a value is known only when the program runs."""
        if any(isinstance(each, Written) for each in (*arguments, *named.values())):
            span = here()
            return call(later(self, span), span, *arguments, **named)
        return self.__ghcm_function__(*arguments, **named)


def declare_function(own: OwnFunction) -> ast.FunctionDecl:
    """The declaration of a function; it is called with stand-ins. Raises `ProgramError`."""
    function = own.__ghcm_function__
    code = function.__code__
    place = definition(code.co_filename, own.name, code.co_firstlineno)
    parameters = parameters_of(function, place)
    hints = hints_of(function, place)
    if "return" not in hints:
        hint = f"write def {own.name}(...) -> int, or the type that it has"
        raise mistake("GHCM-134", f'the result of function "{own.name}" has no type', place.name, hint=hint)
    traced = trace(function, place.whole)
    name = name_of(own.name, place.name)
    return ast.FunctionDecl(name, parameters, type_of(hints["return"], place.name), traced.body, place.whole)
