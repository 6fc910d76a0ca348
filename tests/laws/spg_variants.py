"""Expressions over tagged unions and enums: `match` over what a union or enum is, records as unions, texts as enums."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from ghcm.expr import Call, Expr, ForEach, Get, If, Let, Literal, MakeStruct, Var, rebuild, walk
from ghcm.lowering.expressions.unions import as_record, tag_is
from ghcm.types import Bool, Enumeration, List, String, Struct, Type, Variant, as_nullable, is_nullable, strip
from tests.laws.spg_values import held_type, variants_of

__all__ = ["as_enum", "matched", "united"]

_Made = Callable[[Type, Sequence[Var]], Expr]
"""Draws an expression of a type, which may use these variables too."""


def united(draw: st.DrawFn, union: Struct, made: _Made) -> Expr:
    """A record as the union."""
    variant = draw(st.sampled_from(variants_of(union)))
    held = [(each, held_type(union, each.name, variant)) for each in union.fields[1:]]
    parts = [Literal(None, each.type) if type_ is None else made(type_, ()) for each, type_ in held]
    return MakeStruct((Literal(variant.text, union.fields[0].type), *parts), union)


def matched(draw: st.DrawFn, subject: Expr, type_: Type, made: _Made) -> Expr | None:
    """A chain of tests of which record a union is, or which value an enum has; None for anything else."""
    match strip(subject.type):
        case Struct() as union if possible := variants_of(union):
            chosen = draw(st.permutations(possible))[: draw(st.integers(1, len(possible)))]
            # Types are equal whichever records are left, so only all that were declared are surely all.
            every = len(chosen) == len(_tags(union)) and not is_nullable(subject.type)
            ways = [(tag_is(subject, each), _with_record(draw, subject, each, type_, made)) for each in chosen]
            rest = ways.pop()[1] if every else made(type_, ())
        case Enumeration(values=values) as enum:
            some = draw(st.permutations(values))[: draw(st.integers(1, 3))]
            ways = [(Call("eq", (subject, Literal(each, enum)), _test(subject)), made(type_, ())) for each in some]
            rest = made(type_, ())
        case _:
            return None
    for test, value in reversed(ways):
        rest = If(test, value, rest, type_)
    return rest


def _tags(union: Struct) -> tuple[str, ...]:
    tag = union.fields[0].type
    assert isinstance(tag, Enumeration), "the first field of a union is its tag"
    return tag.values


def _test(subject: Expr) -> Type:
    return as_nullable(Bool()) if is_nullable(subject.type) else Bool()


def _with_record(draw: st.DrawFn, subject: Expr, variant: Variant, type_: Type, made: _Made) -> Expr:
    """An expression over the record that the union is there, which has a name: read where it is used, or once."""
    there = Call("known", (subject,), strip(subject.type)) if is_nullable(subject.type) else subject
    record = as_record(there, variant)
    name = Var("the record", variant.record)
    body = made(type_, [name] * 3)
    if draw(st.booleans()) or _bound(body) & {each.name for each in walk(record) if isinstance(each, Var)}:
        return Let(name, record, body, body.type)
    return rebuild(body, lambda each: _read(each, name, record))


def _bound(body: Expr) -> set[str]:
    """The names that are bound within an expression: what is written in place of a name must not come under them."""
    lets = {each.variable.name for each in walk(body) if isinstance(each, Let)}
    return lets | {each.item.name for each in walk(body) if isinstance(each, ForEach)}


def _read(each: Expr, name: Var, record: Expr) -> Expr:
    """As the lowering does: a field of a record that is made on the spot is what it is made of."""
    match each:
        case Var() if each == name:
            return record
        case Get(of=MakeStruct(values=values), field=field) if each.of == record and isinstance(record.type, Struct):
            return values[record.type.index(field)]
        case _:
            return each


def as_enum(draw: st.DrawFn, enum: Enumeration, given: Expr) -> Expr:
    """A text as a value of the enum, which fails for most texts; sometimes only where it is the empty one."""
    if draw(st.booleans()):
        empty = Call("is_empty", (given,), Bool())
        given = If(empty, given, Literal(draw(st.sampled_from(enum.values)), String()), String())
    return Call("to_enum", (given, Literal(list(enum.values), List(enum))), enum)
