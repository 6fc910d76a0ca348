"""Both front ends build the same tree: random expressions as Python are traced into what their text parses to."""

from __future__ import annotations

import keyword
from datetime import timedelta
from functools import cache
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ghcm import between, coalesce, fields, fn, if_else, match_
from ghcm.language import ast
from ghcm.language.fluent.positions import here
from ghcm.language.fluent.tracing import trace
from ghcm.language.literals import RESERVED
from ghcm.language.parser import parse_expr
from ghcm.language.printing.expressions import flat
from ghcm.source import Source
from tests.campaigns import times
from tests.laws.programs_ast import BINARY, literals, names

PARAMETERS = ("a", "b", "_c")
_fields = names.filter(lambda name: not keyword.iskeyword(name.removesuffix("_")))
_methods = _fields.filter(
    lambda name: name not in ("is_null", "is_not_null", "with", "only", "without") and not name.startswith("__")
)
_refs = st.sampled_from(PARAMETERS).map(ast.Ref)
_scalars = literals.filter(lambda literal: literal.value is not None)


def _called(of: ast.Expr, name: str, arguments: list[ast.Expr], named: list[tuple[str, ast.Expr]]) -> ast.Expr:
    found = [ast.Argument(each) for each in arguments] + [ast.Argument(each, key) for key, each in named]
    return ast.Apply(ast.Attribute(of, name), tuple(found))


def _values(traced: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    """What may stand as an operand: a traced value, a constant, or a structure of these."""
    some = traced | _scalars
    fields = st.lists(st.tuples(_fields.map(ast.Name), some), max_size=3, unique_by=lambda field: field[0])
    return st.one_of(
        some,
        st.lists(some, min_size=2, max_size=3).map(lambda items: ast.TupleExpr(tuple(items))),
        st.lists(some, max_size=2).map(lambda items: ast.ListExpr(tuple(items))),
        st.builds(
            lambda spreads, found: ast.RecordExpr(None, tuple(spreads), tuple(found)),
            st.lists(traced, max_size=1),
            fields,
        ),
        traced.map(lambda body: ast.Lambda((ast.Name("x"),), body)),
    )


def _bigger(traced: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    any_value = _values(traced)
    named = st.lists(st.tuples(_methods, any_value), max_size=2, unique_by=lambda pair: pair[0])
    updates = st.lists(st.tuples(_fields.map(ast.Name), any_value), max_size=2, unique_by=lambda field: field[0])
    single = st.text(max_size=3).map(lambda text: parse_expr(Source("p", flat(_text(text)))))
    ranges = st.builds(ast.Range, single, single)
    several = st.lists(single | ranges, min_size=2, max_size=3, unique=True).map(lambda all_: ast.AnyOf(tuple(all_)))
    patterns = single | ranges | several
    cases = st.lists(
        st.builds(ast.Case, patterns, any_value), min_size=1, max_size=2, unique_by=lambda case: case.pattern
    )
    return st.one_of(
        st.builds(ast.Attribute, traced, _fields),
        st.builds(_called, traced, _methods, st.lists(any_value, max_size=2), named),
        st.builds(ast.Binary, st.sampled_from([op for op in BINARY if op != "??"]), traced, any_value),
        st.builds(lambda left, right: ast.Binary("??", left, right), traced, any_value),
        st.builds(ast.Unary, st.sampled_from(["-", "not"]), traced),
        st.builds(ast.IsNull, traced, st.booleans()),
        st.builds(ast.Index, traced, traced | _scalars),
        st.builds(ast.IfElse, any_value, any_value, any_value),
        st.builds(lambda of, found: ast.Update(of, tuple(found)), traced, updates),
        st.builds(lambda of, found: ast.Match(of, (*found, ast.Case(None, of))), traced, cases),
        st.builds(lambda name, of: ast.Apply(ast.Ref(name), (ast.Argument(of),)), _methods, any_value),
    )


def _text(value: str) -> ast.Literal:
    found = parse_expr(Source("quoted", '"x"'))
    assert isinstance(found, ast.Literal)
    return ast.Literal(value, found.type)


@cache
def _bigger_of_depth(depth: int) -> st.SearchStrategy[ast.Expr]:
    return _bigger(_of_depth(depth - 1))


@st.composite
def _of_depth(draw: st.DrawFn, depth: int) -> ast.Expr:
    return draw(_refs if depth == 0 or draw(st.integers(0, 3)) == 0 else _bigger_of_depth(depth))


_PYTHON = {"and": "&", "or": "|"}


def python(expr: ast.Expr) -> str:
    """The Python of an expression, in parentheses throughout."""
    match expr:
        case ast.Literal(value=int(value), type=type_) if str(type_) == "duration":
            return f"timedelta(microseconds={value})"
        case ast.Literal(value=value):
            return repr(value)
        case ast.Ref(name=name):
            return name
        case ast.Attribute(of=of, name=name):
            return f"getattr({python(of)}, {name!r})"
        case ast.Index(of=of, index=place):
            return f"{python(of)}[{python(place)}]"
        case ast.Slice(of=of, start=start, end=end):
            return f"{python(of)}[{':'.join('' if each is None else python(each) for each in (start, end))}]"
        case ast.Apply(function=ast.Ref(name=name), arguments=arguments):
            return f"getattr(fn, {name!r})({_arguments(arguments)})"
        case ast.Apply(function=function, arguments=arguments):
            return f"{python(function)}({_arguments(arguments)})"
        case ast.Unary(op=op, operand=operand):
            return f"({'-' if op == '-' else '~'}{python(operand)})"
        case ast.Binary(op="??", left=left, right=right):
            return f"coalesce({python(left)}, {python(right)})"
        case ast.Binary(op=op, left=left, right=right):
            return f"({python(left)} {_PYTHON.get(op, op)} {python(right)})"
        case ast.IsNull(operand=operand, negated=negated):
            return f"{python(operand)}.{'is_not_null' if negated else 'is_null'}()"
        case ast.IfElse(condition=condition, yes=yes, no=no):
            return f"if_else({python(condition)}, {python(yes)}, {python(no)})"
        case ast.Let():
            raise ValueError("Python says this by a local variable")
        case ast.Match(subject=subject, cases=cases):
            given = ", ".join(f"{_pattern(each.pattern)}: {python(each.value)}" for each in cases if each.pattern)
            return f"match_({python(subject)}, {{{given}}}, otherwise={python(cases[-1].value)})"
        case ast.TupleExpr(items=items):
            return f"({', '.join(map(python, items))})"
        case ast.ListExpr(items=items):
            return f"[{', '.join(map(python, items))}]"
        case ast.RecordExpr(spreads=spreads, fields=fields):
            taken = [f"**fields({python(each)})" for each in spreads]
            return "{" + ", ".join([*taken, *(f"{name.text!r}: {python(value)}" for name, value in fields)]) + "}"
        case ast.Update(of=of, fields=fields):
            return f"{python(of)}.with_(**{{{', '.join(f'{name.text!r}: {python(value)}' for name, value in fields)}}})"
        case ast.Lambda(parameters=parameters, body=body):
            return f"(lambda {', '.join(name.text for name in parameters)}: {python(body)})"


def _pattern(pattern: ast.Pattern) -> str:
    match pattern:
        case ast.Range(first=first, last=last):
            return f"between({python(first)}, {python(last)})"
        case ast.AnyOf(patterns=patterns):
            return f"({', '.join(map(_pattern, patterns))})"
        case ast.BoundVariant():
            raise AssertionError("no union is drawn here")
        case _:
            return python(pattern)


def _arguments(arguments: tuple[ast.Argument, ...]) -> str:
    plain = [python(each.value) for each in arguments if each.name is None]
    named = [f"{each.name!r}: {python(each.value)}" for each in arguments if each.name is not None]
    return ", ".join([*plain, "**{" + ", ".join(named) + "}"])


@given(_of_depth(3))
@settings(deadline=None, max_examples=times(100), suppress_health_check=[HealthCheck.too_slow])
def test_python_traces_into_what_the_text_says(expr: ast.Expr) -> None:
    tools: dict[str, Any] = {"fn": fn, "between": between, "if_else": if_else, "match_": match_, "coalesce": coalesce}
    tools["fields"] = fields
    function = eval(f"lambda {', '.join(PARAMETERS)}: {python(expr)}", tools | {"timedelta": timedelta})
    traced = trace(function, here())
    assert traced.body == expr
    assert parse_expr(Source("text", flat(traced))) == traced
    assert not any(name.text in RESERVED for name in traced.parameters)
