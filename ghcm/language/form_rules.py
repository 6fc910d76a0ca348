"""The rules of form that a grammar cannot say: each reports to the problems of the text that is read.

What a name means and what a type is are no matters of form; the lowering decides them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ghcm.errors import Diagnostics
from ghcm.language import ast

CLAIMS = ("associative", "commutative")


def parameter_of(item: ast.Expr, problems: Diagnostics) -> ast.Name:
    """The parameter that an item in front of `=>` is; anything but a name is reported and becomes `_`."""
    if isinstance(item, ast.Ref):
        return ast.Name(item.name, item.span)
    problems.error("GHCM-111", "a parameter of a function is a name", item.span, hint="write (a, b) => ...")
    return ast.Name("_", item.span)


def check_claims(claims: Sequence[ast.Name], problems: Diagnostics) -> None:
    """Report what cannot be claimed of a function."""
    for claim in claims:
        if claim.text not in CLAIMS:
            detail = "What can be claimed is @associative and @commutative."
            problems.error("GHCM-114", f'"@{claim.text}" is no claim', claim.span, detail=detail)


def names_in(pattern: ast.Pattern, problems: Diagnostics) -> bool:
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


def check_comparison(made: ast.Binary, problems: Diagnostics) -> None:
    """Report `x == null` and `x != null`."""
    if made.op in ("==", "!=") and (_is_null(made.left) or _is_null(made.right)):
        words = "is null" if made.op == "==" else "is not null"
        detail = "Nothing is equal to null and nothing differs from it: the comparison would always be null."
        problems.error("GHCM-110", "comparison with null", made.span, detail=detail, hint=f'write "{words}"')


def check_order(arguments: Sequence[ast.Argument], problems: Diagnostics) -> None:
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
