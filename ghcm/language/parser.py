"""The text front end: from a program's text to its syntax tree, with all syntax errors of the program at once.

A correct program is parsed in one go. A wrong one is parsed again piece by piece (declarations, statements, fields), so
that each piece can report its own mistake. Meaning (names, types, units) is the lowering's matter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar, cast

from lark import Token, Tree
from lark.exceptions import UnexpectedToken
from lark.tree import Meta

from ghcm.errors import Diagnostics
from ghcm.language import ast, literals
from ghcm.language.syntax_errors import Piece, explain, pieces
from ghcm.language.tables import fed_parser, words
from ghcm.language.tokens import Tokens, read_tokens
from ghcm.source import Source, Span
from ghcm.types import INT_MAX, Bool, Duration, Float, Int, Null, String, Type


def parse(source: Source) -> ast.Program:
    """The program that the text says. Raises `ProgramError` with every syntax error that was found."""
    problems = Diagnostics()
    found = _parse(source, "program", problems)
    problems.check()
    assert isinstance(found, ast.Program)
    return found


def parse_expr(source: Source) -> ast.Expr:
    """One expression standing alone. Raises `ProgramError`."""
    problems = Diagnostics()
    found = _parse(source, "expr", problems)
    problems.check()
    return found  # type: ignore[return-value]


def _parse(source: Source, start: str, problems: Diagnostics) -> object:
    tokens = read_tokens(source, problems)
    whole = Piece(start, tuple(tokens.tokens))
    tree = _tree(whole)
    if isinstance(tree, Tree):
        return build(tree, source, problems)
    if start == "program":
        for piece in pieces(tokens):
            _report(piece, tokens, problems)
    if not problems.found:
        problems.found.append(explain(whole, tree, source))
    return None


def _report(piece: Piece, tokens: Tokens, problems: Diagnostics) -> None:
    """Note what is wrong with one piece; a piece with a mistake of tokens in it has been reported already."""
    tree = _tree(piece)
    if isinstance(tree, Tree):
        build(tree, tokens.source, problems)
    elif not any(piece.start <= offset < piece.end for offset in tokens.damaged):
        problems.found.append(explain(piece, tree, tokens.source))


def _tree(piece: Piece) -> Tree[Token] | UnexpectedToken:
    """The parse tree of a piece, or the error at its first wrong token."""
    parser = fed_parser(piece.rule)
    try:
        for token in piece.tokens:
            parser.feed_token(token)
        last = piece.tokens[-1] if piece.tokens else None
        tree: Tree[Token] = parser.feed_eof(last)  # type: ignore[no-untyped-call]
        return tree
    except UnexpectedToken as error:
        return error


_C = TypeVar("_C")
_Field: TypeAlias = tuple[ast.Name, ast.Expr]
_Parts: TypeAlias = tuple[tuple[ast.Expr, ...], tuple[_Field, ...]]
"""The records that a record takes fields of, and its own fields."""


@dataclass(frozen=True, slots=True)
class _Spread:
    """`...of` in a record."""

    of: ast.Expr
    span: Span


_NODES: dict[str, Callable[..., object]] = {
    "tagged_variant": ast.VariantDecl, "cache": ast.CacheDecl, "sink": ast.SinkDecl, "function": ast.FunctionDecl,
    "parameter": ast.Parameter, "assign": ast.Assign, "do": ast.Do, "nullable_type": ast.NullableType,
    "if_else": ast.IfElse, "let": ast.Let, "range": ast.Range, "index": ast.Index, "slice": ast.Slice,
    "typed": ast.Apply, "update": ast.Update,
}  # fmt: skip
"""The rules whose parts are the fields of a node, in order."""

_LISTS: dict[str, tuple[Callable[..., object], int]] = {
    "program": (ast.Program, 1), "record": (ast.RecordDecl, 1), "enum": (ast.EnumDecl, 1), "union": (ast.UnionDecl, 2),
    "match": (ast.Match, 1), "struct_type": (ast.StructType, 0), "tuple_type": (ast.TupleType, 0),
    "enum_type": (ast.EnumType, 0), "any_of": (ast.AnyOf, 0), "tuple_expr": (ast.TupleExpr, 0),
    "list_expr": (ast.ListExpr, 0),
}  # fmt: skip
"""The rules that end in a list, the last field of a node, and how many fields stand before it."""

_CONSTANTS: dict[str, tuple[bool | None, Type]] = {
    "true": (True, Bool()),
    "false": (False, Bool()),
    "null": (None, Null()),
}


def build(tree: Tree[Token], source: Source, problems: Diagnostics) -> object:
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

    def node(self, rule: str, meta: Meta, parts: list[object]) -> object:
        """What a rule makes of its built parts."""
        # A rule that has found nothing stands nowhere.
        span = Span(self.source, getattr(meta, "start_pos", 0), getattr(meta, "end_pos", 0))
        if rule in _NODES:
            return _NODES[rule](*parts, span=span)
        if rule in _LISTS:
            make, fields = _LISTS[rule]
            return make(*parts[:fields], _present(parts[fields:]), span=span)
        if rule in _CONSTANTS:
            return ast.Literal(*_CONSTANTS[rule], span=span)
        return getattr(self, rule)(span, *parts)

    # --- declarations

    def bare_value(self, span: Span, name: ast.Name) -> ast.Name:
        return name

    def quoted_value(self, span: Span, token: Token) -> ast.Name:
        return ast.Name(self._text(token), span=span)

    def named_variant(self, span: Span, record: ast.Name) -> ast.VariantDecl:
        return ast.VariantDecl(record, record, span=span)

    def field(self, span: Span, name: ast.Name, type_: ast.TypeExpr, *said: Any) -> ast.FieldDecl:
        unit, path = said
        return ast.FieldDecl(name, type_, None if path is None else self._text(path), unit, span=span)

    def unit(self, span: Span, header: ast.UnitDecl, *body: ast.Statement | None) -> ast.UnitDecl:
        return replace(header, body=_present(body), span=span)

    def unit_header(
        self,
        span: Span,
        responsive: Token | None,
        kind: Token,
        name: ast.Name,
        parameters: tuple[ast.Parameter, ...] | None,
        cache: ast.Name | None,
        engine: ast.Name | None,
        count: Token | None,
    ) -> ast.UnitDecl:
        word: Literal["stream", "batch"] = "stream" if kind.type == "STREAM" else "batch"
        parallelism = None if count is None else self._counted(count)
        return ast.UnitDecl(
            name, word, responsive is not None, parameters or (), cache, (), engine, parallelism, span=span
        )

    def _counted(self, token: Token) -> ast.Literal:
        start = token.start_pos or 0
        value = self._constant(token, literals.parse_int, 1)
        return ast.Literal(value, Int(), span=Span(self.source, start, start + len(token)))

    def parameters(self, span: Span, *parameters: ast.Parameter | None) -> tuple[ast.Parameter, ...]:
        return _present(parameters)

    # --- types

    def named_type(self, span: Span, name: ast.Name) -> ast.NamedType:
        return ast.NamedType(name.text, span=span)

    def generic_type(self, span: Span, name: ast.Name, *arguments: ast.TypeExpr) -> ast.NamedType:
        return ast.NamedType(name.text, arguments, span=span)

    def sized_type(self, span: Span, name: ast.Name, *sizes: Token) -> ast.NamedType:
        arguments = tuple(self._constant(size, literals.parse_int, 0) for size in sizes)
        return ast.NamedType(name.text, arguments, span=span)

    # --- lambdas and choices

    def lambda_one(self, span: Span, parameter: ast.Name, body: ast.Expr) -> ast.Lambda:
        return ast.Lambda((parameter,), body, span=span)

    def lambda_none(self, span: Span, body: ast.Expr) -> ast.Lambda:
        return ast.Lambda((), body, span=span)

    def lambda_many(self, span: Span, cover: ast.Expr, body: ast.Expr) -> ast.Lambda:
        items = cover.items if isinstance(cover, ast.TupleExpr) else (cover,)
        return ast.Lambda(tuple(_parameter_of(item, self.problems) for item in items), body, span=span)

    def claimed(self, span: Span, *parts: ast.Name | ast.Lambda) -> ast.Expr:
        claims = [part for part in parts if isinstance(part, ast.Name)]
        function = parts[-1]
        assert isinstance(function, ast.Lambda)
        _check_claims(claims, self.problems)
        return replace(function, claims=tuple(claim.text for claim in claims), span=span)

    def claim(self, span: Span, name: ast.Name) -> ast.Name:
        return ast.Name(name.text, span=span)

    def case(self, span: Span, pattern: ast.Pattern, value: ast.Expr) -> ast.Case:
        if isinstance(pattern, ast.Ref) and pattern.name == "_":
            return ast.Case(None, value, span=span)
        return ast.Case(None if _names_in(pattern, self.problems) else pattern, value, span=span)

    def bound_variant(self, span: Span, record: ast.Name, name: ast.Name) -> ast.BoundVariant:
        return ast.BoundVariant(record.text, name, span=span)

    # --- operators

    def binary(self, span: Span, left: ast.Expr, op: Token, right: ast.Expr) -> ast.Binary:
        made = ast.Binary(cast("ast.BinaryOp", words()[op.type]), left, right, span=span)
        _check_comparison(made, self.problems)
        return made

    def not_in(self, span: Span, left: ast.Expr, _not: Token, _in: Token, right: ast.Expr) -> ast.Binary:
        return ast.Binary("not in", left, right, span=span)

    def negation(self, span: Span, _word: Token, operand: ast.Expr) -> ast.Unary:
        return ast.Unary("not", operand, span=span)

    def negative(self, span: Span, _minus: Token, operand: ast.Expr) -> ast.Unary:
        if isinstance(operand, ast.Literal) and operand.span is not None:
            self.too_large.pop(operand.span.start, None)
        return ast.Unary("-", operand, span=span)

    def is_null(self, span: Span, operand: ast.Expr, negated: Token | None) -> ast.IsNull:
        return ast.IsNull(operand, negated is not None, span=span)

    def is_variant(self, span: Span, operand: ast.Expr, negated: Token | None, record: ast.Name) -> ast.Binary:
        op: ast.BinaryOp = "is" if negated is None else "is not"
        return ast.Binary(op, operand, ast.Ref(record.text, span=record.span), span=span)

    # --- calls and values

    def attribute(self, span: Span, of: ast.Expr, name: ast.Name) -> ast.Attribute:
        return ast.Attribute(of, name.text, name.span, span=span)

    def call(self, span: Span, function: ast.Expr, arguments: tuple[ast.Argument, ...]) -> ast.Apply:
        return ast.Apply(function, arguments, span=span)

    def arguments(self, span: Span, *arguments: ast.Argument | None) -> tuple[ast.Argument, ...]:
        present = _present(arguments)
        _check_order(present, self.problems)
        return present

    def argument(self, span: Span, name: ast.Name | None, value: ast.Expr) -> ast.Argument:
        return ast.Argument(value, None if name is None else name.text, span=span)

    def ref(self, span: Span, name: ast.Name) -> ast.Ref:
        return ast.Ref(name.text, span=span)

    def group(self, span: Span, inner: ast.Expr) -> ast.Expr:
        return inner

    def single(self, span: Span, inner: ast.Expr) -> ast.Expr:
        self.problems.error("GHCM-112", "a tuple has at least two items", span, hint="leave the comma out")
        return inner

    def record_expr(self, span: Span, name: ast.Name, parts: _Parts) -> ast.RecordExpr:
        return ast.RecordExpr(name.text, *parts, span=span)

    def anonymous_record(self, span: Span, parts: _Parts) -> ast.RecordExpr:
        return ast.RecordExpr(None, *parts, span=span)

    def record_parts(self, span: Span, *parts: object) -> _Parts:
        present = _present(parts)
        spreads = tuple(each for each in present if isinstance(each, _Spread))
        if present[: len(spreads)] != spreads:
            first = next(index for index, each in enumerate(present) if not isinstance(each, _Spread))
            late = next(each for each in present[first:] if isinstance(each, _Spread))
            hint = "A field behind it takes the place of the record's."
            self.problems.error(
                "GHCM-113", "a record that gives its fields stands ahead of others", late.span, hint=hint
            )
        fields = tuple(cast("_Field", each) for each in present if not isinstance(each, _Spread))
        return tuple(each.of for each in spreads), fields

    def spread(self, span: Span, of: ast.Expr) -> _Spread:
        return _Spread(of, span)

    def record_fields(self, span: Span, *fields: object) -> tuple[object, ...]:
        return _present(fields)

    def record_field(self, span: Span, *parts: object) -> tuple[object, ...]:
        return parts

    # --- constants

    def string(self, span: Span, token: Token) -> ast.Literal:
        return ast.Literal(self._text(token), String(), span=span)

    def integer(self, span: Span, token: Token) -> ast.Literal:
        value = self._constant(token, literals.parse_int, 0)
        if value > INT_MAX:
            self.too_large[span.start] = span
        return ast.Literal(value, Int(), span=span)

    def float(self, span: Span, token: Token) -> ast.Literal:
        return ast.Literal(self._constant(token, literals.parse_float, 0.0), Float(), span=span)

    def duration(self, span: Span, token: Token) -> ast.Literal:
        return ast.Literal(self._constant(token, literals.parse_duration, 0), Duration(), span=span)

    def name(self, span: Span, token: Token) -> ast.Name:
        return ast.Name(str(token), span=span)

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
        return ast.Name(item.name, span=item.span)
    problems.error("GHCM-111", "a parameter of a function is a name", item.span, hint="write (a, b) => ...")
    return ast.Name("_", span=item.span)


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
