"""From the parse tree to the syntax tree: source positions, constants, and the rules of form that a grammar cannot say.

It decides no meaning: which names are operators, columns or units, and what a type is, is the lowering's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias, TypeVar

from lark import Token, Tree
from lark.tree import Meta

from ghcm.errors import Diagnostics
from ghcm.language import ast, literals
from ghcm.source import Source, Span
from ghcm.types import INT_MAX, Bool, Duration, Float, Int, Null, String

_C = TypeVar("_C")

Node: TypeAlias = object
"""A node of the syntax tree, or what a rule hands to the one around it."""

_BINARY: dict[str, ast.BinaryOp] = {
    "PLUS": "+", "MINUS": "-", "TIMES": "*", "OVER": "/", "FLOOR": "//", "MODULO": "%", "EQ": "==", "NE": "!=",
    "LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "AND": "and", "OR": "or", "COALESCE": "??",
    "IN": "in",
}  # fmt: skip

_NODES: dict[str, Callable[..., Node]] = {
    "tagged_variant": ast.VariantDecl, "cache": ast.CacheDecl, "sink": ast.SinkDecl, "function": ast.FunctionDecl,
    "parameter": ast.Parameter, "assign": ast.Assign, "do": ast.Do, "nullable_type": ast.NullableType,
    "if_else": ast.IfElse, "let": ast.Let, "range": ast.Range, "index": ast.Index, "slice": ast.Slice,
    "typed": ast.Apply, "update": ast.Update,
}  # fmt: skip
"""The rules whose parts are the fields of a node, in order."""

_LISTS: dict[str, tuple[Callable[..., Node], int]] = {
    "program": (ast.Program, 1), "record": (ast.RecordDecl, 1), "enum": (ast.EnumDecl, 1), "union": (ast.UnionDecl, 2),
    "match": (ast.Match, 1), "struct_type": (ast.StructType, 0), "tuple_type": (ast.TupleType, 0),
    "enum_type": (ast.EnumType, 0), "any_of": (ast.AnyOf, 0), "tuple_expr": (ast.TupleExpr, 0),
    "list_expr": (ast.ListExpr, 0),
}  # fmt: skip
"""The rules that end in a list, the last field of a node, and how many fields stand before it."""


def build(tree: Tree[Token], source: Source, problems: Diagnostics) -> Node:
    """The syntax tree of a parse tree; mistakes of form are reported and the nearest well-formed tree is given."""
    builder = _Builder(source, problems)
    built: dict[int, object] = {}
    for part in tree.iter_subtrees():
        children = [built[id(each)] if isinstance(each, Tree) else each for each in part.children]
        built[id(part)] = builder.node(part.data, part.meta, children)
    for span in builder.too_large.values():
        problems.error("GHCM-104", "the number does not fit into 64 bits", span)
    return built[id(tree)]


class _Builder:
    """One method per rule of the grammar that no table has; arguments are the built parts, None for an option that is
    absent."""

    def __init__(self, source: Source, problems: Diagnostics) -> None:
        self.source = source
        self.problems = problems
        self.too_large: dict[int, Span] = {}

    def _span(self, meta: Meta) -> Span:
        return Span(self.source, meta.start_pos, meta.end_pos)

    def node(self, rule: str, meta: Meta, parts: list[object]) -> object:
        """What a rule makes of its built parts."""
        if rule in _NODES:
            return _NODES[rule](*parts, self._span(meta))
        if rule in _LISTS:
            make, fields = _LISTS[rule]
            return make(*parts[:fields], _present(parts[fields:]), self._span(meta))
        return getattr(self, rule)(meta, *parts)

    # --- declarations

    def bare_value(self, meta: Meta, name: ast.Name) -> ast.Name:
        return name

    def quoted_value(self, meta: Meta, token: Token) -> ast.Name:
        return ast.Name(self._text(token), self._span(meta))

    def named_variant(self, meta: Meta, record: ast.Name) -> ast.VariantDecl:
        return ast.VariantDecl(record, record, self._span(meta))

    def field(self, meta: Meta, name: ast.Name, type_: ast.TypeExpr, path: Token | None) -> ast.FieldDecl:
        return ast.FieldDecl(name, type_, None if path is None else self._text(path), self._span(meta))

    def unit(self, meta: Meta, header: ast.UnitDecl, *body: ast.Statement | None) -> ast.UnitDecl:
        return replace(header, body=_present(body), span=self._span(meta))

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

    # --- types

    def named_type(self, meta: Meta, name: ast.Name) -> ast.NamedType:
        return ast.NamedType(name.text, (), self._span(meta))

    def generic_type(self, meta: Meta, name: ast.Name, *arguments: ast.TypeExpr) -> ast.NamedType:
        return ast.NamedType(name.text, arguments, self._span(meta))

    def sized_type(self, meta: Meta, name: ast.Name, *sizes: Token) -> ast.NamedType:
        return ast.NamedType(
            name.text, tuple(self._constant(size, literals.parse_int, 0) for size in sizes), self._span(meta)
        )

    # --- lambdas and choices

    def lambda_one(self, meta: Meta, parameter: ast.Name, body: ast.Expr) -> ast.Lambda:
        return ast.Lambda((parameter,), body, self._span(meta))

    def lambda_none(self, meta: Meta, body: ast.Expr) -> ast.Lambda:
        return ast.Lambda((), body, self._span(meta))

    def lambda_many(self, meta: Meta, cover: ast.Expr, body: ast.Expr) -> ast.Lambda:
        items = cover.items if isinstance(cover, ast.TupleExpr) else (cover,)
        return ast.Lambda(tuple(_parameter_of(item, self.problems) for item in items), body, self._span(meta))

    def claimed(self, meta: Meta, *parts: ast.Name | ast.Lambda) -> ast.Expr:
        claims = [part for part in parts if isinstance(part, ast.Name)]
        function = parts[-1]
        assert isinstance(function, ast.Lambda)
        _check_claims(claims, self.problems)
        return ast.Lambda(function.parameters, function.body, self._span(meta), tuple(claim.text for claim in claims))

    def claim(self, meta: Meta, name: ast.Name) -> ast.Name:
        return ast.Name(name.text, self._span(meta))

    def case(self, meta: Meta, pattern: ast.Pattern, value: ast.Expr) -> ast.Case:
        if isinstance(pattern, ast.Ref) and pattern.name == "_":
            return ast.Case(None, value, self._span(meta))
        return ast.Case(None if _names_in(pattern, self.problems) else pattern, value, self._span(meta))

    def bound_variant(self, meta: Meta, record: ast.Name, name: ast.Name) -> ast.BoundVariant:
        return ast.BoundVariant(record.text, name, self._span(meta))

    # --- operators

    def binary(self, meta: Meta, left: ast.Expr, op: Token, right: ast.Expr) -> ast.Binary:
        made = ast.Binary(_BINARY[op.type], left, right, self._span(meta))
        _check_comparison(made, self.problems)
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

    def call(self, meta: Meta, function: ast.Expr, arguments: tuple[ast.Argument, ...]) -> ast.Apply:
        return ast.Apply(function, arguments, None, self._span(meta))

    def arguments(self, meta: Meta, *arguments: ast.Argument | None) -> tuple[ast.Argument, ...]:
        present = _present(arguments)
        _check_order(present, self.problems)
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

    def record_expr(self, meta: Meta, name: ast.Name, fields: tuple[tuple[ast.Name, ast.Expr], ...]) -> ast.RecordExpr:
        return ast.RecordExpr(name.text, fields, self._span(meta))

    def anonymous_record(self, meta: Meta, fields: tuple[tuple[ast.Name, ast.Expr], ...]) -> ast.RecordExpr:
        return ast.RecordExpr(None, fields, self._span(meta))

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
        return ast.Literal(True, Bool(), self._span(meta))

    def false(self, meta: Meta) -> ast.Literal:
        return ast.Literal(False, Bool(), self._span(meta))

    def null(self, meta: Meta) -> ast.Literal:
        return ast.Literal(None, Null(), self._span(meta))

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


def _present(parts: Sequence[_C | None]) -> tuple[_C, ...]:
    return tuple(part for part in parts if part is not None)


def _parameter_of(item: ast.Expr, problems: Diagnostics) -> ast.Name:
    """The parameter that an item in front of `=>` is; anything but a name is reported and becomes `_`."""
    if isinstance(item, ast.Ref):
        return ast.Name(item.name, item.span)
    problems.error("GHCM-111", "a parameter of a function is a name", item.span, hint="write (a, b) => ...")
    return ast.Name("_", item.span)


def _check_claims(claims: Sequence[ast.Name], problems: Diagnostics) -> None:
    """Report what cannot be claimed of a function."""
    for claim in claims:
        if claim.text not in literals.CLAIMS:
            detail = "What can be claimed is @associative and @commutative."
            problems.error("GHCM-114", f'"@{claim.text}" is no claim', claim.span, detail=detail)


def _names_in(pattern: ast.Pattern, problems: Diagnostics) -> bool:
    """Report the names that no pattern can be: the ends of ranges, and a `_` among others. Whether there are any."""
    parts = pattern.patterns if isinstance(pattern, ast.AnyOf) else (pattern,)
    ends = [end for part in parts if isinstance(part, ast.Range) for end in (part.first, part.last)]
    names = [end for end in ends if isinstance(end, ast.Ref)]
    names += [part for part in parts if isinstance(part, ast.Ref) and part.name == "_"]
    for name in names:
        hint = 'a string stands in quotes; "_" matches everything else'
        if name.name == "_":
            hint = '"_" stands alone and matches everything else'
        problems.error("GHCM-117", f'"{name.name}" is no pattern', name.span, hint=hint)
    return bool(names)


def _check_comparison(made: ast.Binary, problems: Diagnostics) -> None:
    """Report `x == null` and `x != null`."""
    if made.op in ("==", "!=") and (_is_null(made.left) or _is_null(made.right)):
        words = "is null" if made.op == "==" else "is not null"
        detail = "Nothing is equal to null and nothing differs from it: the comparison would always be null."
        problems.error("GHCM-110", "comparison with null", made.span, detail=detail, hint=f'write "{words}"')


def _check_order(arguments: Sequence[ast.Argument], problems: Diagnostics) -> None:
    """Report arguments without a name behind one with a name."""
    named = False
    for argument in arguments:
        if named and argument.name is None:
            hint = "put it before those with a name, or name it too"
            message = "an argument without a name behind one with a name"
            problems.error("GHCM-119", message, argument.span, hint=hint)
        named = named or argument.name is not None


def _is_null(expr: ast.Expr) -> bool:
    return isinstance(expr, ast.Literal) and expr.value is None
