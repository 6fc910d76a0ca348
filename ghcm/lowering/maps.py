"""`map_of(key, value, ...)`: the list of entries that it stands for."""

from __future__ import annotations

from ghcm.codes import Code
from ghcm.expr import Expr, MakeList, MakeStruct
from ghcm.lowering.context import Context
from ghcm.lowering.conversion import common_type, convert
from ghcm.source import Span
from ghcm.types import List, is_nullable, pair_of


def entries_of(arguments: tuple[Expr, ...], span: Span | None, context: Context) -> Expr | None:
    """A list of records `{key, value}` of keys and values by turns, or None after a report."""
    keys, values = arguments[::2], arguments[1::2]
    if not keys or len(keys) != len(values):
        hint = 'It is written map_of("a", 1, "b", 2).'
        context.report(Code.BAD_OPERANDS, '"map_of" takes keys and values by turns', span, hint=hint)
        return None
    if any(is_nullable(each.type) for each in keys):
        hint = 'A filter or "??" gives a key that is not null.'
        context.report(Code.MAY_BE_NULL, 'a key of "map_of" may be null', span, hint=hint)
        return None
    pairs = [MakeStruct((key, value), pair_of(key.type, value.type)) for key, value in zip(keys, values, strict=True)]
    type_ = common_type(pairs)
    converted = [] if type_ is None else [made for pair in pairs if (made := convert(pair, type_)) is not None]
    if type_ is None or len(converted) < len(pairs):
        found = ", ".join(dict.fromkeys(f'"{pair.type}"' for pair in pairs))
        message = 'the entries of "map_of" have no type in common'
        context.report(Code.BRANCHES_DIFFER, message, span, detail=f"They are {found}.")
        return None
    return MakeList(tuple(converted), List(type_))
