"""Where generated programs meet each way in which a function fails: a source of arguments that fail, and the call."""

from __future__ import annotations

from functools import cache
from itertools import islice

from hypothesis import strategies as st

from ghcm.expr import Expr, Get, Lambda, MakeStruct, Var
from ghcm.functions import FUNCTIONS
from ghcm.spg.connectors import Memory
from ghcm.spg.ops import Map, Source
from ghcm.spg.reference.functions import Failed, Types, call
from ghcm.types import Collection, Field, Shape, Struct
from tests.conformance.functions.case import Case, argument_types, call_of, fields_of, result_of, rows_of
from tests.conformance.functions.families import FAMILY_CASES
from tests.laws.spg_flows import Chain, Flow

__all__ = ["failing"]

_LOOKED_AT = 20_000
"""Arguments of a case."""


@cache
def _ways() -> dict[tuple[str, str], list[tuple[Case, tuple[object, ...]]]]:
    """Arguments that fail, by function and reason: some of each case."""
    found: dict[tuple[str, str], list[tuple[Case, tuple[object, ...]]]] = {}
    cases = [case for cases in FAMILY_CASES.values() for case in cases if FUNCTIONS[case.function].failures]
    for case in cases:
        types = Types(argument_types(case), result_of(case))
        seen: dict[str, int] = {}
        for row in islice(rows_of(case), _LOOKED_AT):
            if None in row:
                continue
            try:
                call(case.function, types, [*row, *case.constants])
            except Failed as failed:
                reason = failed.reason.value
                seen[reason] = seen.get(reason, 0) + 1
                if seen[reason] <= 5:
                    found.setdefault((case.function, reason), []).append((case, row))
    return found


def failing(draw: st.DrawFn, chain: Chain) -> Flow:
    """A source of arguments, the first of which fail, and a map that calls the function."""
    way = draw(st.sampled_from(sorted(_ways())))
    case, row = draw(st.sampled_from(_ways()[way]))
    element = Struct(tuple(Field(f"a{place}", each) for place, each in enumerate(fields_of(case))))
    others = list(islice(rows_of(case), draw(st.integers(0, 40)), 45))[:: draw(st.integers(4, 9))]
    source = Source(Memory((row, *others, row)))
    flow = chain.add("rows", source, Collection(Shape.STREAM, element, bounded=True))
    record = Var("x", element)
    given: list[Expr] = [Get(record, each.name, each.type) for each in element.fields]
    gives = Struct((*element.fields, Field("made", result_of(case))))
    body = MakeStruct((*given, call_of(case, given)), gives)
    return chain.row("map", Map(Lambda((record,), body)), flow, element=gives)
