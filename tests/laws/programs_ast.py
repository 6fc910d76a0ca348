"""Syntax trees at random: every tree that either front end can build, whether it has a meaning or not."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from ghcm.language import ast
from ghcm.language.literals import CLAIMS, RESERVED
from ghcm.types import INT_MAX, Bool, Duration, Float, Int, Null, String

__all__ = ["BINARY", "exprs", "literals", "names", "programs"]

BINARY: tuple[ast.BinaryOp, ...] = (
    "+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or", "??",
)  # fmt: skip

_words = st.sampled_from(
    [
        "a",
        "b",
        "_",
        "_1",
        "batch",
        "from",
        "on",
        "record",
        "enum",
        "union",
        "by",
        "with",
        "function",
        "r",
        "us",
        "Alarm",
    ]
)
_random = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True)
names = (_words | _random).filter(lambda text: text not in RESERVED)
_names = names.map(ast.Name)
_texts = st.text(st.characters(codec="utf-8"), max_size=12) | st.just(
    "a long line of text that has no joint at all " * 2
)

_durations = st.integers(0, INT_MAX) | st.integers(0, 1000).map(lambda count: count * 1_000_000)
_numbers = (
    st.integers(0, INT_MAX).map(lambda value: ast.Literal(value, Int()))
    | st.floats(0, allow_nan=False, allow_infinity=False).map(lambda value: ast.Literal(abs(value), Float()))
    | _durations.map(lambda value: ast.Literal(value, Duration()))
)
literals = (
    _numbers
    | _texts.map(lambda value: ast.Literal(value, String()))
    | st.booleans().map(lambda value: ast.Literal(value, Bool()))
    | st.just(ast.Literal(None, Null()))
)
_constants: st.SearchStrategy[ast.Expr] = literals | _numbers.map(lambda number: ast.Unary("-", number))
_single: st.SearchStrategy[ast.Expr | ast.Range | ast.BoundVariant] = _constants | st.builds(
    ast.Range, _constants, _constants
)
_single |= names.filter(lambda name: name != "_").map(ast.Ref)
_single |= st.builds(ast.BoundVariant, names, _names)
_several = st.lists(_single, min_size=2, max_size=3).map(lambda patterns: ast.AnyOf(tuple(patterns)))
_patterns: st.SearchStrategy[ast.Pattern | None] = st.none() | _single | _several


# --- types


def _composed(inner: st.SearchStrategy[ast.TypeExpr]) -> st.SearchStrategy[ast.TypeExpr]:
    plain = inner.filter(lambda type_: not isinstance(type_, ast.NullableType))
    return (
        plain.map(ast.NullableType)
        | st.builds(ast.NamedType, names, st.lists(inner, min_size=1, max_size=2).map(tuple))
        | st.builds(ast.StructType, st.lists(_fields(inner), min_size=1, max_size=3).map(tuple))
        | st.builds(ast.TupleType, st.lists(inner, min_size=2, max_size=3).map(tuple))
    )


def _fields(types: st.SearchStrategy[ast.TypeExpr]) -> st.SearchStrategy[ast.FieldDecl]:
    return st.builds(ast.FieldDecl, _names, types, st.none() | _texts)


_sizes = st.lists(st.integers(0, 38), min_size=1, max_size=2).map(tuple)
_members = st.lists(_texts | names, min_size=1, max_size=4, unique=True)
_values = _members.map(lambda each: tuple(map(ast.Name, each)))
_plain_types = names.map(ast.NamedType) | st.builds(ast.NamedType, names, _sizes) | st.builds(ast.EnumType, _values)
types: st.SearchStrategy[ast.TypeExpr] = st.recursive(_plain_types, _composed, max_leaves=4)


# --- expressions


def _null(expr: ast.Expr) -> bool:
    return isinstance(expr, ast.Literal) and expr.value is None


def _legal(expr: ast.Expr) -> bool:
    """The parser refuses to compare with null."""
    match expr:
        case ast.Binary(op="==" | "!=", left=left, right=right):
            return not _null(left) and not _null(right)
        case _:
            return True


@st.composite
def _arguments(draw: st.DrawFn, inner: st.SearchStrategy[ast.Expr]) -> tuple[ast.Argument, ...]:
    plain = draw(st.lists(inner.map(ast.Argument), max_size=2))
    named = draw(st.lists(st.builds(ast.Argument, inner, names), max_size=2))
    return (*plain, *named)


def _bigger(inner: st.SearchStrategy[ast.Expr]) -> st.SearchStrategy[ast.Expr]:
    some = st.lists(inner, max_size=3).map(tuple)
    fields = st.lists(st.tuples(_names, inner), max_size=3).map(tuple)
    cases = st.lists(st.builds(ast.Case, _patterns, inner), min_size=1, max_size=3).map(tuple)
    claims = st.just(()) | st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=2, unique=True).map(tuple)
    method = st.builds(ast.Attribute, inner, names)
    return st.one_of(
        method,
        st.builds(ast.Apply, inner | method | method, _arguments(inner), st.none() | st.none() | types),
        st.builds(ast.Unary, st.sampled_from(["-", "not"]), inner),
        st.builds(ast.Binary, st.sampled_from(BINARY), inner, inner).filter(_legal),
        st.builds(ast.IsNull, inner, st.booleans()),
        st.builds(ast.Binary, st.sampled_from(["is", "is not"]), inner, names.map(ast.Ref)),
        st.builds(ast.Index, inner, inner),
        st.builds(ast.Slice, inner, st.none() | inner, st.none() | inner),
        st.builds(ast.IfElse, inner, inner, inner),
        st.builds(ast.Let, _names, inner, inner),
        st.builds(ast.Match, inner, cases),
        st.lists(inner, min_size=2, max_size=3).map(lambda items: ast.TupleExpr(tuple(items))),
        some.map(ast.ListExpr),
        st.builds(ast.RecordExpr, st.none() | names, st.lists(inner, max_size=1).map(tuple), fields),
        st.builds(ast.Update, inner, fields),
        st.builds(ast.Lambda, st.lists(_names, max_size=2).map(tuple), inner, claims=claims),
    )


@cache
def _bigger_of_depth(depth: int) -> st.SearchStrategy[ast.Expr]:
    return _bigger(of_depth(depth - 1))


_leaves = literals | names.map(ast.Ref)


@st.composite
def of_depth(draw: st.DrawFn, depth: int) -> ast.Expr:
    """An expression of so many levels at most."""
    return draw(_leaves if depth == 0 or draw(st.integers(0, 3)) == 0 else _bigger_of_depth(depth))


exprs: st.SearchStrategy[ast.Expr] = of_depth(3)


# --- programs


@st.composite
def _chains(draw: st.DrawFn) -> ast.Expr:
    """Pipelines, which trees at random seldom are."""
    expr: ast.Expr = draw(names.map(ast.Ref) | exprs)
    for _ in range(draw(st.integers(0, 6))):
        result = draw(st.none() | st.none() | types)
        expr = ast.Apply(ast.Attribute(expr, draw(names)), draw(_arguments(exprs)), result)
    return expr


def _ended(start: ast.Expr, end: str, arguments: tuple[ast.Argument, ...]) -> ast.Statement:
    return ast.Do(ast.Apply(ast.Attribute(start, end), arguments))


_assigned: st.SearchStrategy[ast.Statement] = st.builds(ast.Assign, _names, exprs | _chains())
_done = st.builds(_ended, _chains(), st.sampled_from(["to", "publish", "reply"]), _arguments(exprs))
_variants = st.builds(ast.VariantDecl, _names | _texts.map(ast.Name), _names)
_parameters = st.lists(st.builds(ast.Parameter, _names, types, st.none() | exprs), max_size=4).map(tuple)
_declarations: st.SearchStrategy[ast.Declaration] = st.one_of(
    st.builds(ast.RecordDecl, _names, st.lists(_fields(types), max_size=6).map(tuple)),
    st.builds(ast.EnumDecl, _names, _values | st.just(())),
    st.builds(ast.UnionDecl, _names, _names, st.lists(_variants, max_size=4).map(tuple)),
    st.builds(ast.CacheDecl, _names, exprs | _chains()),
    st.builds(ast.SinkDecl, _names, exprs | _chains()),
    st.builds(ast.FunctionDecl, _names, _parameters, types, exprs),
    st.builds(
        ast.UnitDecl,
        _names,
        st.sampled_from(["stream", "batch"]),
        st.booleans(),
        _parameters,
        st.none() | _names,
        st.lists(_assigned | _done, max_size=4).map(tuple),
    ),
)

programs: st.SearchStrategy[ast.Program] = st.builds(
    ast.Program, _names, st.lists(_declarations, max_size=4).map(tuple)
)
