"""Functions of records, `x => ...`, and the program's own, `function half(x: int?) : int? = x // 2`, which are checked
once and written out where called.

An argument that is more than a field or a constant is computed once (`Let`). Functions call each other, but not
themselves, neither directly nor by way of others. No expression nests deeper than every engine can follow.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import cast

from ghcm.codes import Code
from ghcm.errors import Reported, attempt, both, every, suggest
from ghcm.expr import Call, Expr, Get, Lambda, Let, Literal, Var, bound_names, children, free_names, fresh, substitute
from ghcm.functions import FUNCTIONS, resolve
from ghcm.language import ast, trees
from ghcm.lowering.context import Context, Defined, Scope
from ghcm.lowering.expressions.records import fits
from ghcm.lowering.narrowing import path_of
from ghcm.source import Span
from ghcm.types import Bool, Struct, Type, strip

_LARGEST = 5_000
"""Parts of one expression with all functions written out."""


def call_of(name: str, *arguments: Expr) -> Call:
    """The call of a function that takes these arguments as they are."""
    found = resolve(FUNCTIONS[name], tuple(each.type for each in arguments))
    assert found is not None and found.parameters == tuple(each.type for each in arguments), name
    return Call(name, arguments, found.result)


def define(declared: Mapping[str, ast.FunctionDecl], context: Context) -> None:
    """Put every function into `context.functions`, those first that others call."""
    found = cast("dict[str, Defined | None]", context.functions)
    open_: list[str] = []

    def visit(name: str) -> None:
        if name in found:
            return
        open_.append(name)
        for called, span in _calls(declared[name].body, declared):
            if called in open_:
                _report_circle([*open_[open_.index(called) :], called], span, context)
                found.update(dict.fromkeys(open_[open_.index(called) :]))
            else:
                visit(called)
        open_.pop()
        if name not in found:
            found[name] = attempt(_defined, declared[name], context)

    for name in declared:
        visit(name)


def _report_circle(names: list[str], span: Span | None, context: Context) -> None:
    way = ", which calls ".join(f'"{name}"' for name in names[1:])
    message = f'function "{names[0]}" calls {way if len(names) > 2 else "itself"}'
    detail = "Functions are written out where they are called, which would never end."
    hint = "A list goes through map, filter, any and all; other repetition is a Python function."
    context.report(Code.RECURSIVE, message, span, detail=detail, hint=hint)


def _calls(tree: ast.Node, declared: Mapping[str, ast.FunctionDecl]) -> Iterator[tuple[str, Span | None]]:
    for part in trees.walk(tree):
        match part:
            case ast.Apply(function=ast.Ref(name=name, span=span)) if name in declared:
                yield name, span
            case ast.Apply(function=ast.Attribute(name=name, name_span=span)) if name in declared:
                yield name, span
            case _:
                pass


def _defined(function: ast.FunctionDecl, context: Context) -> Defined:
    name = function.name.text
    variables: dict[str, Expr | None] = {}
    for parameter in function.parameters:
        text, type_ = parameter.name.text, attempt(context.records.type_of, parameter.type)
        if text in variables:
            message = f'function "{name}" has the parameter "{text}" twice'
            context.report(Code.DECLARED_TWICE, message, parameter.name.span)
        if parameter.default is not None:
            message = f'parameter "{text}" of function "{name}" has a default'
            hint = "Each call gives every value; x ?? 3 in the body says what stands for null, where a parameter has ?."
            context.report(Code.BAD_LAMBDA, message, parameter.default.span, hint=hint)
        variables[text] = None if type_ is None else Var(text, type_)
    scope, type_of = Scope(context, variables), context.records.type_of
    what = f'the body of function "{name}"'
    result, body = both(lambda: type_of(function.result), lambda: whole(function.body, scope, what))
    body = fits(body, result, f'the result of function "{name}"', function.body.span, context)
    parameters = tuple(each for each in variables.values() if isinstance(each, Var))
    if len(parameters) < len(function.parameters):
        raise Reported
    if too_large(body):
        message = f'function "{name}" is too large when the functions that it calls are written out'
        raise context.report(Code.TOO_DEEP, message, function.name.span, hint=_IN_STEPS)
    return Defined(name, parameters, body)


_IN_STEPS = "Several map(...) compute it in steps."


def whole(written: ast.Expr, scope: Scope, what: str) -> Expr:
    """The typed form of an expression that is part of no other; one too deep to be followed is reported."""
    try:
        return scope.typed(written)
    except RecursionError:
        if not too_deep(written):  # it is what stands around it
            raise
        message = f"{what} nests deeper than {DEEPEST} levels"
        raise scope.report(Code.TOO_DEEP, message, written.span) from None


def condition(written: ast.Expr, scope: Scope, what: str) -> Expr:
    """A typed expression that is true, false or null."""
    made = scope.typed(written)
    if strip(made.type) == Bool():
        return made
    hint = "A number is compared, for example with 0." if FUNCTIONS["abs"].rule((strip(made.type),)) else ""
    raise scope.report(Code.NOT_BOOL, f'{what} is "{made.type}" and not "bool"', written.span, hint=hint)


def lambda_of(
    written: ast.Expr, parameters: tuple[Type, ...], scope: Scope, what: str, *, test: bool = False
) -> Lambda:
    """The typed function of parameters of these types; `test` asks for a condition as its body."""
    if not isinstance(written, ast.Lambda):
        hint = f'It is written "{"x" if len(parameters) == 1 else "(a, b)"} => ...".'
        if isinstance(written, ast.Literal) and any(_is_field(written.value, each) for each in parameters):
            hint = f"The field is written without quotes: {written.value}."
        raise scope.report(Code.BAD_LAMBDA, f"{what} is not a function", written.span, hint=hint)
    _check_parameters(written, parameters, scope, what)
    variables: dict[str, Var] = {}
    for parameter, type_ in zip(written.parameters, parameters, strict=True):
        variables[parameter.text] = Var(fresh(parameter.text, scope.taken), type_)
        scope.context.note(parameter.span, type_)
    return _body_of(written.body, tuple(variables.values()), scope.binding(variables), what, test, written.span)


def _is_field(name: object, record: Type) -> bool:
    return isinstance(record, Struct) and name in record.names


def of_columns(
    written: ast.Expr, record: Type, scope: Scope, what: str, *, test: bool = False, name: str = "record"
) -> Lambda:
    """The typed function of a record of which an expression is written over the names of its fields, where `value` is
    all of it unless a field is called so; `name` is what its parameter is called then.
    """
    parameter = Var(fresh(name, scope.taken), record)
    columns: dict[str, Expr | None] = {VALUE: parameter}
    if isinstance(record, Struct):
        columns |= {field.name: Get(parameter, field.name, field.type) for field in record.fields}
    return over_names(written, (parameter,), columns, scope, what, test=test)


def over_names(
    written: ast.Expr,
    parameters: tuple[Var, ...],
    names: Mapping[str, Expr | None],
    scope: Scope,
    what: str,
    *,
    test: bool = False,
) -> Lambda:
    """The typed function of these parameters as which an expression is written; names stand for parts of them."""
    inner = scope.binding(names)
    inner = replace(inner, taken=inner.taken.union(each.name for each in parameters))
    return _body_of(written, parameters, inner, what, test, written.span)


def _body_of(
    written: ast.Expr, parameters: tuple[Var, ...], inner: Scope, what: str, test: bool, span: Span | None
) -> Lambda:
    """The function of these parameters, which names in the scope stand for."""
    if too_deep(written):
        message = f"{what} nests deeper than {DEEPEST} levels"
        raise inner.report(Code.TOO_DEEP, message, span, hint=_IN_STEPS)
    body = condition(written, inner, what) if test else inner.typed(written)
    outermost = inner.taken <= {each.name for each in parameters}
    if inner.context.functions and outermost and too_large(body):
        message = f"{what} is too large when the functions that it calls are written out"
        raise inner.report(Code.TOO_DEEP, message, span, hint=_IN_STEPS)
    return Lambda(parameters, body)


def mentions_names(written: ast.Expr) -> bool:
    """Whether an expression is no function by itself, and no constant."""
    return not isinstance(written, ast.Lambda) and any(isinstance(part, ast.Ref) for part in trees.walk(written))


def check_apart(written: ast.Expr, records: Iterable[Type], scope: Scope) -> None:
    """Report a name in an expression that is a field of a record and a parameter of the unit as well."""
    fields = {name for each in records if isinstance(each, Struct) for name in each.names}
    for part in trees.walk(written):
        if isinstance(part, ast.Ref) and part.name in fields and part.name in scope.parameters:
            message = f'"{part.name}" is a field and a parameter of the unit'
            hint = f"In r => ... the field is r.{part.name}, and {part.name} the parameter."
            raise scope.report(Code.RESERVED, message, part.span, hint=hint)


VALUE = "value"
"""What all of a record is called beside its fields."""


def _check_parameters(written: ast.Lambda, wanted: tuple[Type, ...], scope: Scope, what: str) -> None:
    """Report parameters that are not as many as types, or not each under a name of its own."""
    names = [parameter.text for parameter in written.parameters]
    if len(names) != len(wanted):
        takes = f"{len(wanted)} parameter{'s' if len(wanted) != 1 else ''}"
        message = f"{what} is a function of {takes}, and this one has {len(names)}"
        first = strip(wanted[0])
        pair = isinstance(first, Struct) and first.names[:2] == ("key", "value") and len(wanted) == 1
        hint = "A pair is one record: p => ... of p.key and p.value." if pair and len(names) == 2 else ""
        raise scope.report(Code.BAD_LAMBDA, message, written.span, hint=hint)
    for index, parameter in enumerate(written.parameters):
        if parameter.text in names[:index]:
            message = f'parameter "{parameter.text}" stands here twice'
            raise scope.report(Code.DECLARED_TWICE, message, parameter.span)
        scope.check_free(parameter)


def too_large(expr: Expr) -> bool:
    """Whether an expression is deeper or larger than engines can follow; it is looked at without recursion."""
    level, count = [expr], 0
    for _ in range(DEEPEST):
        level = [part for node in level for part in children(node)]
        count += len(level)
        if not level or count > _LARGEST:
            break
    return bool(level)


# --- calls -----------------------------------------------------------------------------------------------------------


def call_defined(
    function: Defined, operands: tuple[ast.Argument, ...], given: tuple[Expr, ...], written: ast.Apply, context: Context
) -> Expr:
    """The function's body for these arguments."""
    names = [each.name for each in function.parameters]
    by_name = dict[str, tuple[Expr, Span | None]]()
    for index, (operand, value) in enumerate(zip(operands, given, strict=True)):
        name = operand.name or (names[index] if index < len(names) else "")
        if name not in names or name in by_name:
            raise _wrong_argument(function, operand, twice=name in by_name, context=context)
        by_name[name] = value, operand.value.span
    missing = [name for name in names if name not in by_name]
    if missing:
        message = f'"{function.name}" is called without "{missing[0]}"'
        raise context.report(Code.BAD_OPERANDS, message, written.span, detail=_written(function))

    def argument(parameter: Var) -> Expr:
        value, span = by_name[parameter.name]
        return fits(value, parameter.type, f'"{parameter.name}" of "{function.name}"', span, context)

    return _inlined(function, every(argument, function.parameters))


def _wrong_argument(function: Defined, operand: ast.Argument, *, twice: bool, context: Context) -> Reported:
    names = [each.name for each in function.parameters]
    message = f'"{function.name}" takes {len(names)} argument{"s" if len(names) != 1 else ""}'
    hint = ""
    if operand.name is not None:
        message = f'"{function.name}" {"takes" if twice else "has no parameter"} "{operand.name}"'
        message += " once" if twice else ""
        hint = "" if twice else suggest(operand.name, names)
    span, detail = operand.span or operand.value.span, _written(function)
    return context.report(Code.BAD_OPERANDS, message, span, detail=detail, hint=hint)


def _written(function: Defined) -> str:
    parameters = ", ".join(f"{each.name}: {each.type}" for each in function.parameters)
    return f"It is declared {function.name}({parameters}) : {function.body.type}."


def _inlined(function: Defined, arguments: tuple[Expr, ...]) -> Expr:
    """The body with fields and constants put in, and a `Let` around it for each other argument."""
    taken = frozenset[str]().union(*map(free_names, arguments)) | bound_names(function.body)
    by: dict[str, Expr] = {}
    kept: list[tuple[Var, Expr]] = []
    for parameter, argument in zip(function.parameters, arguments, strict=True):
        plain = isinstance(argument, Literal) or path_of(argument) is not None
        if plain and argument.type == parameter.type:
            by[parameter.name] = argument
            continue
        variable = Var(fresh(f"{function.name}.{parameter.name}", taken), parameter.type)
        taken |= {variable.name}
        by[parameter.name] = variable
        kept.append((variable, argument))
    body = substitute(function.body, by)
    for variable, argument in reversed(kept):
        body = Let(variable, argument, body, body.type)
    return body


DEEPEST = 100
"""Levels of one expression. Python reads up to 200 brackets within brackets, and generated code has them."""


def too_deep(written: ast.Expr) -> bool:
    """Whether an expression nests deeper than `DEEPEST`; it is looked at without recursion.

    >>> too_deep(ast.Unary("not", ast.Ref("x")))
    False
    """
    level: list[ast.Node] = [written]
    for _ in range(DEEPEST):
        level = [part for node in level for part in trees.parts(node)]
        if not level:
            return False
    return True
