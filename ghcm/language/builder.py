"""From the parse tree to the syntax tree: places and constants. What of the form a grammar cannot say, `form_rules` do.

It decides no meaning: which names are operators, columns or units is the lowering's matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar, cast

from lark import Token, Tree
from lark.tree import Meta

from ghcm.errors import Diagnostics
from ghcm.language import ast, literals
from ghcm.language.form_rules import check_claims, check_comparison, check_order, names_in, parameter_of
from ghcm.source import Source, Span
from ghcm.types import INT_MAX, Bool, Duration, Float, Int, Null, String, Type

_C = TypeVar("_C")

Node = (
    ast.Program
    | ast.Declaration
    | ast.Statement
    | ast.FieldDecl
    | ast.TypeExpr
    | ast.Expr
    | ast.Name
    | ast.Range
    | ast.AnyOf
    | ast.Case
    | ast.Argument
    | tuple[object, ...]
)

_BINARY: dict[str, ast.BinaryOp] = {
    "PLUS": "+", "MINUS": "-", "TIMES": "*", "OVER": "/", "FLOOR": "//", "MODULO": "%", "EQ": "==", "NE": "!=",
    "LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "AND": "and", "OR": "or", "COALESCE": "??",
    "IN": "in",
}  # fmt: skip


def build(tree: Tree[Token], source: Source, problems: Diagnostics) -> Node:
    """The syntax tree of a parse tree; mistakes of form are reported and the nearest well-formed tree is given."""
    builder = _Builder(source, problems)
    built: dict[int, object] = {}
    for part in tree.iter_subtrees():
        children = (built[id(each)] if isinstance(each, Tree) else each for each in part.children)
        built[id(part)] = getattr(builder, part.data)(part.meta, *children)
    node = cast(Node, built[id(tree)])
    for span in builder.too_large.values():
        problems.error("GHCM-104", "the number does not fit into 64 bits", span)
    return node


class _Builder:
    """One method per rule of the grammar; arguments are the built parts, None for an option that is absent."""

    def __init__(self, source: Source, problems: Diagnostics) -> None:
        self.source = source
        self.problems = problems
        self.too_large: dict[int, Span] = {}

    def _span(self, meta: Meta) -> Span:
        return Span(self.source, meta.start_pos, meta.end_pos)

    # --- declarations

    def program(self, meta: Meta, name: ast.Name, *declarations: ast.Declaration) -> ast.Program:
        return ast.Program(name, declarations, self._span(meta))

    def record(self, meta: Meta, name: ast.Name, *fields: ast.FieldDecl | None) -> ast.RecordDecl:
        return ast.RecordDecl(name, _present(fields), self._span(meta))

    def enum(self, meta: Meta, name: ast.Name, *values: ast.Name | None) -> ast.EnumDecl:
        return ast.EnumDecl(name, _present(values), self._span(meta))

    def bare_value(self, meta: Meta, name: ast.Name) -> ast.Name:
        return name

    def quoted_value(self, meta: Meta, token: Token) -> ast.Name:
        return ast.Name(self._text(token), self._span(meta))

    def union(self, meta: Meta, name: ast.Name, tag: ast.Name, *variants: ast.VariantDecl | None) -> ast.UnionDecl:
        return ast.UnionDecl(name, tag, _present(variants), self._span(meta))

    def named_variant(self, meta: Meta, record: ast.Name) -> ast.VariantDecl:
        return ast.VariantDecl(record, record, self._span(meta))

    def tagged_variant(self, meta: Meta, text: ast.Name, record: ast.Name) -> ast.VariantDecl:
        return ast.VariantDecl(text, record, self._span(meta))

    def field(self, meta: Meta, name: ast.Name, type_: ast.TypeExpr, path: Token | None) -> ast.FieldDecl:
        return ast.FieldDecl(name, type_, None if path is None else self._text(path), self._span(meta))

    def cache(self, meta: Meta, name: ast.Name, connector: ast.Expr) -> ast.CacheDecl:
        return ast.CacheDecl(name, connector, self._span(meta))

    def sink(self, meta: Meta, name: ast.Name, connector: ast.Expr) -> ast.SinkDecl:
        return ast.SinkDecl(name, connector, self._span(meta))

    def function(
        self,
        meta: Meta,
        name: ast.Name,
        parameters: tuple[ast.Parameter, ...],
        result: ast.TypeExpr,
        body: ast.Expr,
    ) -> ast.FunctionDecl:
        return ast.FunctionDecl(name, parameters, result, body, self._span(meta))

    def unit(self, meta: Meta, header: ast.UnitDecl, *body: ast.Statement | None) -> ast.UnitDecl:
        return ast.UnitDecl(
            header.name,
            header.kind,
            header.responsive,
            header.parameters,
            header.cache,
            _present(body),
            self._span(meta),
        )

    def unit_header(
        self,
        meta: Meta,
        responsive: Token | None,
        kind: Token,
        name: ast.Name,
        parameters: tuple[ast.Parameter, ...] | None,
        cache: ast.Name | None,
    ) -> ast.UnitDecl:
        word: Literal["stream", "batch"] = "stream" if kind.type == "STREAM" else "batch"
        return ast.UnitDecl(name, word, responsive is not None, parameters or (), cache, (), self._span(meta))

    def parameters(self, meta: Meta, *parameters: ast.Parameter | None) -> tuple[ast.Parameter, ...]:
        return _present(parameters)

    def parameter(self, meta: Meta, name: ast.Name, type_: ast.TypeExpr, default: ast.Expr | None) -> ast.Parameter:
        return ast.Parameter(name, type_, default, self._span(meta))

    def assign(self, meta: Meta, name: ast.Name, value: ast.Expr) -> ast.Assign:
        return ast.Assign(name, value, self._span(meta))

    def do(self, meta: Meta, value: ast.Expr) -> ast.Do:
        return ast.Do(value, self._span(meta))

    # --- types

    def named_type(self, meta: Meta, name: ast.Name) -> ast.NamedType:
        return ast.NamedType(name.text, (), self._span(meta))

    def generic_type(self, meta: Meta, name: ast.Name, *arguments: ast.TypeExpr) -> ast.NamedType:
        return ast.NamedType(name.text, arguments, self._span(meta))

    def sized_type(self, meta: Meta, name: ast.Name, *sizes: Token) -> ast.NamedType:
        return ast.NamedType(
            name.text, tuple(self._constant(size, literals.parse_int, 0) for size in sizes), self._span(meta)
        )

    def nullable_type(self, meta: Meta, of: ast.TypeExpr) -> ast.NullableType:
        return ast.NullableType(of, self._span(meta))

    def struct_type(self, meta: Meta, *fields: ast.FieldDecl) -> ast.StructType:
        return ast.StructType(fields, self._span(meta))

    def tuple_type(self, meta: Meta, *items: ast.TypeExpr) -> ast.TupleType:
        return ast.TupleType(items, self._span(meta))

    def enum_type(self, meta: Meta, *values: ast.Name) -> ast.EnumType:
        return ast.EnumType(values, self._span(meta))

    # --- lambdas and choices

    def lambda_one(self, meta: Meta, parameter: ast.Name, body: ast.Expr) -> ast.Lambda:
        return ast.Lambda((parameter,), body, self._span(meta))

    def lambda_none(self, meta: Meta, body: ast.Expr) -> ast.Lambda:
        return ast.Lambda((), body, self._span(meta))

    def lambda_many(self, meta: Meta, cover: ast.Expr, body: ast.Expr) -> ast.Lambda:
        items = cover.items if isinstance(cover, ast.TupleExpr) else (cover,)
        return ast.Lambda(tuple(parameter_of(item, self.problems) for item in items), body, self._span(meta))

    def claimed(self, meta: Meta, *parts: ast.Name | ast.Lambda) -> ast.Expr:
        claims = [part for part in parts if isinstance(part, ast.Name)]
        function = parts[-1]
        assert isinstance(function, ast.Lambda)
        check_claims(claims, self.problems)
        return ast.Lambda(function.parameters, function.body, self._span(meta), tuple(claim.text for claim in claims))

    def claim(self, meta: Meta, name: ast.Name) -> ast.Name:
        return ast.Name(name.text, self._span(meta))

    def if_else(self, meta: Meta, condition: ast.Expr, yes: ast.Expr, no: ast.Expr) -> ast.IfElse:
        return ast.IfElse(condition, yes, no, self._span(meta))

    def let(self, meta: Meta, name: ast.Name, value: ast.Expr, body: ast.Expr) -> ast.Let:
        return ast.Let(name, value, body, self._span(meta))

    def match(self, meta: Meta, subject: ast.Expr, *cases: ast.Case) -> ast.Match:
        return ast.Match(subject, cases, self._span(meta))

    def case(self, meta: Meta, pattern: ast.Pattern, value: ast.Expr) -> ast.Case:
        if isinstance(pattern, ast.Ref) and pattern.name == "_":
            return ast.Case(None, value, self._span(meta))
        return ast.Case(None if names_in(pattern, self.problems) else pattern, value, self._span(meta))

    def range(self, meta: Meta, first: ast.Expr, last: ast.Expr) -> ast.Range:
        return ast.Range(first, last, self._span(meta))

    def bound_variant(self, meta: Meta, record: ast.Name, name: ast.Name) -> ast.BoundVariant:
        return ast.BoundVariant(record.text, name, self._span(meta))

    def any_of(self, meta: Meta, *patterns: ast.Expr | ast.Range | ast.BoundVariant) -> ast.AnyOf:
        return ast.AnyOf(patterns, self._span(meta))

    # --- operators

    def binary(self, meta: Meta, left: ast.Expr, op: Token, right: ast.Expr) -> ast.Binary:
        made = ast.Binary(_BINARY[op.type], left, right, self._span(meta))
        check_comparison(made, self.problems)
        return made

    def not_in(self, meta: Meta, left: ast.Expr, _not: Token, _in: Token, right: ast.Expr) -> ast.Binary:
        return ast.Binary("not in", left, right, self._span(meta))

    def negation(self, meta: Meta, _word: Token, operand: ast.Expr) -> ast.Unary:
        return ast.Unary("not", operand, self._span(meta))

    def negative(self, meta: Meta, _minus: Token, operand: ast.Expr) -> ast.Unary:
        if isinstance(operand, ast.Literal) and operand.span is not None:
            self.too_large.pop(operand.span.start, None)
        return ast.Unary("-", operand, self._span(meta))

    def is_null(self, meta: Meta, operand: ast.Expr, negated: Token | None) -> ast.IsNull:
        return ast.IsNull(operand, negated is not None, self._span(meta))

    def is_variant(self, meta: Meta, operand: ast.Expr, negated: Token | None, record: ast.Name) -> ast.Binary:
        op: ast.BinaryOp = "is" if negated is None else "is not"
        return ast.Binary(op, operand, ast.Ref(record.text, record.span), self._span(meta))

    # --- calls and values

    def attribute(self, meta: Meta, of: ast.Expr, name: ast.Name) -> ast.Attribute:
        return ast.Attribute(of, name.text, self._span(meta), name.span)

    def index(self, meta: Meta, of: ast.Expr, place: ast.Expr) -> ast.Index:
        return ast.Index(of, place, self._span(meta))

    def slice(self, meta: Meta, of: ast.Expr, start: ast.Expr | None, end: ast.Expr | None) -> ast.Slice:
        return ast.Slice(of, start, end, self._span(meta))

    def call(self, meta: Meta, function: ast.Expr, arguments: tuple[ast.Argument, ...]) -> ast.Apply:
        return ast.Apply(function, arguments, None, self._span(meta))

    def typed(
        self, meta: Meta, function: ast.Expr, arguments: tuple[ast.Argument, ...], result: ast.TypeExpr
    ) -> ast.Apply:
        return ast.Apply(function, arguments, result, self._span(meta))

    def arguments(self, meta: Meta, *arguments: ast.Argument | None) -> tuple[ast.Argument, ...]:
        present = _present(arguments)
        check_order(present, self.problems)
        return present

    def argument(self, meta: Meta, name: ast.Name | None, value: ast.Expr) -> ast.Argument:
        return ast.Argument(value, None if name is None else name.text, self._span(meta))

    def ref(self, meta: Meta, name: ast.Name) -> ast.Ref:
        return ast.Ref(name.text, self._span(meta))

    def group(self, meta: Meta, inner: ast.Expr) -> ast.Expr:
        return inner

    def single(self, meta: Meta, inner: ast.Expr) -> ast.Expr:
        self.problems.error("GHCM-112", "a tuple has at least two items", self._span(meta), hint="leave the comma out")
        return inner

    def tuple_expr(self, meta: Meta, *items: ast.Expr) -> ast.TupleExpr:
        return ast.TupleExpr(items, self._span(meta))

    def list_expr(self, meta: Meta, *items: ast.Expr | None) -> ast.ListExpr:
        return ast.ListExpr(_present(items), self._span(meta))

    def record_expr(self, meta: Meta, name: ast.Name, fields: tuple[tuple[ast.Name, ast.Expr], ...]) -> ast.RecordExpr:
        return ast.RecordExpr(name.text, fields, self._span(meta))

    def anonymous_record(self, meta: Meta, fields: tuple[tuple[ast.Name, ast.Expr], ...]) -> ast.RecordExpr:
        return ast.RecordExpr(None, fields, self._span(meta))

    def update(self, meta: Meta, of: ast.Expr, fields: tuple[tuple[ast.Name, ast.Expr], ...]) -> ast.Update:
        return ast.Update(of, fields, self._span(meta))

    def record_fields(self, meta: Meta, *fields: object) -> object:
        return _present(fields)

    def record_field(self, meta: Meta, name: ast.Name, value: ast.Expr) -> object:
        return (name, value)

    # --- constants

    def string(self, meta: Meta, token: Token) -> ast.Literal:
        return ast.Literal(self._text(token), String(), self._span(meta))

    def integer(self, meta: Meta, token: Token) -> ast.Literal:
        value = self._constant(token, literals.parse_int, 0)
        if value > INT_MAX:
            self.too_large[meta.start_pos] = self._span(meta)
        return ast.Literal(value, Int(), self._span(meta))

    def float(self, meta: Meta, token: Token) -> ast.Literal:
        return ast.Literal(self._constant(token, literals.parse_float, 0.0), Float(), self._span(meta))

    def duration(self, meta: Meta, token: Token) -> ast.Literal:
        return ast.Literal(self._constant(token, literals.parse_duration, 0), Duration(), self._span(meta))

    def true(self, meta: Meta) -> ast.Literal:
        return self._word(meta, True, Bool())

    def false(self, meta: Meta) -> ast.Literal:
        return self._word(meta, False, Bool())

    def null(self, meta: Meta) -> ast.Literal:
        return self._word(meta, None, Null())

    def _word(self, meta: Meta, value: bool | None, type_: Type) -> ast.Literal:
        return ast.Literal(value, type_, self._span(meta))

    def name(self, meta: Meta, token: Token) -> ast.Name:
        return ast.Name(str(token), self._span(meta))

    def _text(self, token: Token) -> str:
        return self._constant(token, literals.parse_string, "")

    def _constant(self, token: Token, parse: Callable[[str], _C], instead: _C) -> _C:
        try:
            return parse(token)
        except ValueError as error:
            start = token.start_pos or 0
            hint = 'write "\\\\" for a backslash, or put r before the string' if token.type == "STRING" else ""
            code = "GHCM-103" if token.type == "STRING" else "GHCM-104"
            self.problems.error(code, str(error), Span(self.source, start, start + len(token)), hint=hint)
            return instead


def _present(parts: tuple[_C | None, ...]) -> tuple[_C, ...]:
    return tuple(part for part in parts if part is not None)
