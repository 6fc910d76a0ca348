"""Whether reducers may take the values of a group in any order: proofs by normal forms, and, for what is claimed, a
search for values that contradict the claim, through the reference.

The search goes through small domains, in which most wrong claims show at once; that it finds nothing proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice, product
from typing import TypeAlias, assert_never

from ghcm import types
from ghcm.expr import Call, Expr, Get, If, Lambda, MakeStruct, Param, Var, walk
from ghcm.normal_forms import any_order, forms
from ghcm.reducers import Custom, Fields, Reducer
from ghcm.source import Origin
from ghcm.spg.graph import Program, all_tasks
from ghcm.spg.labels import summary
from ghcm.spg.notation.expressions import print_expr
from ghcm.spg.notation.natural import Scope
from ghcm.spg.ops import ReduceByKey
from ghcm.spg.reference.expressions import apply
from ghcm.spg.reference.functions import Failed
from ghcm.spg.reference.order import order_key
from ghcm.types import Type
from ghcm.values import encode

LARGEST = 9
"""Values of a type that are tried."""
CASES = 4_000
"""Triples of values that are tried."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of the reducer of a task: the proof, or what was tried. `wrong`: a case that contradicts what is
    claimed, empty where none was found.
    """

    unit: str
    task: str
    origin: Origin
    says: str
    wrong: str = ""


def findings(program: Program) -> Iterator[Finding]:
    """What is known of each reducer of a program."""
    for unit in program.units:
        for task in all_tasks(unit):
            if isinstance(task.op, ReduceByKey):
                said = [_said(each) for each in _customs(task.op.reducer)] or [("proven: " + summary(task.op), "")]
                for says, wrong in said:
                    yield Finding(unit.name, task.id, task.origin, says, wrong)


def _customs(reducer: Reducer) -> Iterator[Custom]:
    match reducer:
        case Custom():
            yield reducer
        case Fields(parts=parts):
            for each in parts:
                yield from _customs(each)
        case _:  # the built-in ones are proven
            pass


def _said(reducer: Custom) -> tuple[str, str]:
    if not reducer.claimed:
        return "reduced in the order that it says", ""
    if any_order(reducer.function):
        return f"proven: {proof(reducer.function)}", ""
    if any(isinstance(part, Param) for part in walk(reducer.function.body)):
        return "claimed, and not tried: it reads a parameter of the unit", ""
    wrong = counter_example(reducer.function)
    tried = sum(1 for _ in _cases(reducer.function))
    return "claimed, wrongly" if wrong else f"claimed; none of {tried:,} cases contradicts it", wrong


def proof(function: Lambda) -> str:
    """The normal forms that are alike, as text."""
    found = forms(function)
    assert found is not None
    one, _, both, _ = map(_form, found)
    return f"f(a, b) and f(b, a) are {one}; f(f(a, b), c) and f(a, f(b, c)) are {both}"


def _form(expr: Expr) -> str:
    """A normal form as text, without the types that its variables have."""
    match expr:
        case Var(name=name):
            return name
        case Get(of=of, field=field):
            return f"{_form(of)}.{field}"
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(map(_form, arguments))})"
        case MakeStruct(values=values):
            return f"({', '.join(map(_form, values))})"
        case If(condition=condition, then=then, otherwise=otherwise):
            return f"if {_form(condition)} then {_form(then)} else {_form(otherwise)}"
        case _:  # the others as programs have them
            return print_expr(expr, Scope())


def counter_example(function: Lambda) -> str:
    """A case in which the order of values matters, as text; empty where none is found."""
    type_ = function.parameters[0].type
    for case in _cases(function):
        for names, sides in _LAWS:
            one, two = (_outcome(function, side, case) for side in sides)
            if _key(one, type_) != _key(two, type_):
                given = ", ".join(f"{name} = {encode(case[name], type_)}" for name in names)
                texts = [_text(each, type_) for each in (one, two)]
                return f"{given}: {_written(sides[0])} is {texts[0]}, {_written(sides[1])} is {texts[1]}"
    return ""


_Side: TypeAlias = "str | tuple[_Side, _Side]"
_LAWS: tuple[tuple[str, tuple[_Side, _Side]], ...] = (
    ("ab", (("a", "b"), ("b", "a"))),
    ("abc", ((("a", "b"), "c"), ("a", ("b", "c")))),
)


def _written(side: _Side) -> str:
    return side if isinstance(side, str) else f"f({_written(side[0])}, {_written(side[1])})"


def _outcome(function: Lambda, side: _Side, case: Mapping[str, object]) -> object:
    """The value of a side; the failure where it has none."""
    if isinstance(side, str):
        return case[side]
    one, two = (_outcome(function, each, case) for each in side)
    if isinstance(one, Failed) or isinstance(two, Failed):
        return one if isinstance(one, Failed) else two
    try:
        return apply(function, (one, two), {})
    except Failed as failed:
        return failed


def _key(outcome: object, type_: Type) -> object:
    return "fails" if isinstance(outcome, Failed) else order_key(outcome, type_)


def _text(outcome: object, type_: Type) -> str:
    return f"a failure ({outcome.detail})" if isinstance(outcome, Failed) else encode(outcome, type_)


def _cases(function: Lambda) -> Iterator[dict[str, object]]:
    values = small_values(function.parameters[0].type)
    return (dict(zip("abc", case, strict=True)) for case in islice(product(values, repeat=3), CASES))


def small_values(type_: Type) -> list[object]:
    """A few values of a type, extremes among them."""
    match type_:
        case types.Nullable(of=of):
            return [None, *small_values(of)][:LARGEST]
        case types.Null():
            return [None]
        case types.Bool():
            return [False, True]
        case types.Int():
            return [0, 1, 2, -1, 3, types.INT_MAX, types.INT_MIN]
        case types.Int32():
            return [0, 1, 2, -1, 2**31 - 1]
        case types.Timestamp() | types.Duration() | types.Date():
            return [0, 1, 2, -1]
        case types.Float():
            return [0.0, 1.5, -1.0, 2.0, math.inf]
        case types.Decimal(scale=scale):
            return [Decimal(each).scaleb(-scale) for each in (0, 1, 2, -1)]
        case types.String():
            return ["", "a", "b", "ab"]
        case types.Enumeration(values=values):
            return list(values[:LARGEST])
        case types.Bytes():
            return [b"", b"a", b"b"]
        case types.List(item=item):
            some = small_values(item)[:3]
            return [[], *([each] for each in some), some]
        case types.Map(key=key, value=value):
            return [{}, *({each: small_values(value)[0]} for each in small_values(key)[:2])]
        case types.Struct(fields=fields):
            columns = [small_values(each.type)[:4] for each in fields]
            rows: list[object] = list(islice(product(*columns), 4_096))
            return rows[:: max(1, len(rows) // LARGEST)][: LARGEST + 1]
        case _:
            assert_never(type_)
