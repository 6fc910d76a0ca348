"""Units and functions of the program as functions of Python: parameters from the annotations, bodies by one call.

A unit's function says its pipelines when it is called; a function of the program is traced once and called by name
wherever a lambda calls it.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ghcm.errors import ProgramError
from ghcm.language import ast
from ghcm.language.fluent.connectors import Cache
from ghcm.language.fluent.pipelines import Body, Pipeline, recording
from ghcm.language.fluent.positions import Definition, here, innermost, keep, mistake, report, said
from ghcm.language.fluent.records import hints_of, type_of
from ghcm.language.fluent.tracing import Traced, call, expr_of, trace
from ghcm.language.fluent.values import Later, Written, later, name_of, next_order, plain, resolve, targets
from ghcm.source import Span
from ghcm.types import Int


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
        """A call of it: an expression where a value is known only when the program runs, or is a function of records,
        as of an aggregate.
        """
        if any(isinstance(each, Written) or callable(each) for each in (*arguments, *named.values())):
            span = here()
            return call(later(self, span), span, *arguments, **named)
        return self.__ghcm_function__(*arguments, **named)


def declare_function(own: OwnFunction) -> ast.FunctionDecl:
    """The declaration of a function; it is called with stand-ins. Raises `ProgramError`."""
    function = own.__ghcm_function__
    code = function.__code__
    definition = Definition(code.co_filename, own.name, code.co_firstlineno)
    parameters = parameters_of(function, definition)
    hints = hints_of(function, definition.name)
    if "return" not in hints:
        hint = f"write def {own.name}(...) -> int, or the type that it has"
        raise mistake("GHCM-134", f'the result of function "{own.name}" has no type', definition.name, hint=hint)
    traced = trace(function, definition.whole)
    name = name_of(own.name, definition.name)
    return ast.FunctionDecl(
        name, parameters, type_of(hints["return"], definition.name), traced.body, span=definition.whole
    )


Function: TypeAlias = Callable[..., Any]
Kind: TypeAlias = Literal["stream", "batch"]


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """What the decorator of a unit was given."""

    kind: Kind
    function: Function
    responsive: bool
    on: object
    span: Span
    order: int
    engine: object
    parallelism: object

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.function, "__name__", ""))


class Unit:
    """A unit. `unit(since=agg.min("ts"))` is a call for `.publish`, `unit.hosts` its table of that name."""

    __slots__ = ("__ghcm_unit__", "__weakref__")

    def __init__(
        self,
        kind: Kind,
        function: Function,
        responsive: bool,
        on: object,
        span: Span,
        engine: object = None,
        parallelism: object = None,
    ) -> None:
        if not inspect.isfunction(function):
            raise mistake("GHCM-134", f"a {kind} unit is a function", span, hint=f"write @program.{kind} above a def")
        self.__ghcm_unit__ = Declared(kind, function, responsive, on, span, next_order(), engine, parallelism)

    def __ghcm_expr__(self, span: Span) -> ast.Expr:
        """Its name, once it is known."""
        return later(self, span)

    def __call__(self, /, *arguments: object, **named: object) -> Any:
        """A call of it, as an expression."""
        span = here()
        return call(later(self, span), span, *arguments, **named)

    def __getattr__(self, name: str) -> Pipeline:
        if name.startswith(("__", "_repr_", "_ipython_")):
            raise AttributeError(name)
        span = here()
        return Pipeline(ast.Attribute(later(self, span), plain(name), span, span=span), span)


def declare_unit(unit: Unit) -> ast.UnitDecl:
    """The declaration of a unit; its function is called. Mistakes inside are reported, in its form raised."""
    declared = unit.__ghcm_unit__
    code = declared.function.__code__
    definition = Definition(code.co_filename, declared.name, code.co_firstlineno)
    not_plain = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if any(test(declared.function) for test in not_plain):
        detail = "It is called once to describe its pipelines; it runs no data."
        raise mistake("GHCM-134", f'unit "{declared.name}" is no plain function', definition.name, detail=detail)
    parameters = parameters_of(declared.function, definition)
    with recording(code) as body:
        _call(declared.function, definition)
    statements = _statements(body, definition)
    cache = None
    if declared.on is not None:
        if not isinstance(declared.on, Cache):
            hint = "write on=program.cache(...)"
            raise mistake("GHCM-132", '"on" of a unit is a msg cache', declared.span, hint=hint)
        cache = ast.Name(Later.of(declared.on), span=declared.span)
    engine = None
    if declared.engine is not None:
        if not isinstance(declared.engine, str):
            raise mistake("GHCM-132", '"engine" of a unit is a name', declared.span, hint='write engine="native"')
        engine = ast.Name(declared.engine, span=declared.span)
    parallelism = None
    if declared.parallelism is not None:
        if not isinstance(declared.parallelism, int) or isinstance(declared.parallelism, bool):
            raise mistake("GHCM-132", '"parallelism" of a unit is a number', declared.span, hint="write parallelism=2")
        parallelism = ast.Literal(declared.parallelism, Int(), span=declared.span)
    name = name_of(declared.name, definition.name)
    return ast.UnitDecl(
        name,
        declared.kind,
        declared.responsive,
        parameters,
        cache,
        statements,
        engine,
        parallelism,
        span=definition.whole,
    )


def parameters_of(function: Function, definition: Definition) -> tuple[ast.Parameter, ...]:
    """The parameters of a function of the program with their types. Raises `ProgramError`."""
    hints = hints_of(function, definition.name)
    found: list[ast.Parameter] = []
    for each in inspect.signature(function).parameters.values():
        span = definition.parameter(each.name)
        if each.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise mistake("GHCM-134", f'"*{each.name}" cannot be a parameter', span, hint="name its parameters")
        if each.name not in hints:
            hint = f"write {each.name}: int, or the type that it has"
            raise mistake("GHCM-134", f'parameter "{each.name}" has no type', span, hint=hint)
        default = None if each.default is inspect.Parameter.empty else expr_of(each.default, span)
        found.append(ast.Parameter(name_of(each.name, span), type_of(hints[each.name], span), default, span=span))
    return tuple(found)


def _call(function: Function, definition: Definition) -> None:
    names = inspect.signature(function).parameters
    values = {each: Traced(ast.Ref(plain(each), span=definition.parameter(each))) for each in names}
    try:
        function(**values)
    except ProgramError as error:
        keep(error)
    except Exception as error:  # whatever the user's own code raises is the user's to read, where it stands
        span = innermost(error.__traceback__, function.__code__.co_filename) or definition.name
        message = f'unit "{function.__name__}" fails while it is described'
        report("GHCM-138", message, span, detail=said(error))


def _statements(body: Body, definition: Definition) -> tuple[ast.Statement, ...]:
    uses = Counter(target for each in body.pipelines for target in targets(each.expr) if isinstance(target, Pipeline))
    names = {each: name for each, name in _names(body).items() if not (each.ends and uses[each])}

    def naming(target: object, span: Span | None) -> str | ast.Expr:
        if isinstance(target, Pipeline) and target in uses:
            return names.get(target, target.expr)
        return Later.of(target)

    found: list[ast.Statement] = []
    for each in body.pipelines:
        if each in names:
            at = definition.assigned(names[each]) or each.span
            found.append(ast.Assign(name_of(names[each], at), resolve(each.expr, naming), span=each.span))
        elif uses[each] == 0:
            found.append(ast.Do(resolve(each.expr, naming), span=each.span))
        elif uses[each] > 1:
            hint = "assign it to a variable: name = ..."
            report("GHCM-135", f"a pipeline without a name is used {uses[each]} times", each.span, hint=hint)
    return tuple(found)


def _names(body: Body) -> dict[Pipeline, str]:
    """The variables of the unit's function that hold its pipelines; of several for one the first."""
    frame, body.frame = body.frame, None
    if frame is None:
        return {}
    mine = set(body.pipelines)
    held = {name: value for name, value in frame.f_locals.items() if isinstance(value, Pipeline) and name != "_"}
    return {value: name for name, value in reversed(held.items()) if value in mine}
