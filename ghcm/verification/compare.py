"""Whether an engine gave what the reference gives: results compared by what the design says about them.

Append and replace sinks, replies and dead letters are multisets; sinks with a key, and tables, are compared by key;
instructions in order. Floats may differ by 1e-12 of the greatest sum of magnitudes that the reference saw, and NaN
equals NaN; where a function was called whose last digits engines may choose (`inexact`), by 1e-12 of themselves, too.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from ghcm.runtime.contract import Publication
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.spg.graph import Program
from ghcm.spg.reference import DeadLetterRow, Published, Result
from ghcm.types import Float, List, Map, Struct, Type, strip
from ghcm.values import Json, encode

TOLERANCE = 1e-12


def differences(
    program: Program,
    expected: Result,
    *,
    sinks: Mapping[str, Sequence[object]],
    dead: Iterable[tuple[str, str, str]],
    ordered: bool = False,
) -> list[str]:
    """What differs, in words: canonical rows by sink, dead letters as (task, reason, input). Empty where all is the
    same.
    """
    found: list[str] = []
    for name in sorted({*expected.sinks, *sinks}):
        element = program.sink(name).element
        rows = (expected.sinks.get(name, []), sinks.get(name, []))
        compared = compare_rows(*rows, element, expected.magnitude, ordered=ordered, inexact=expected.inexact)
        found += [f'sink "{name}": {line}' for line in compared]
    return [*found, *(f"dead letters: {line}" for line in compare_dead(expected.dead, dead))]


def compare_rows(
    expected: Sequence[object],
    found: Sequence[object],
    type_: Type,
    magnitude: float = 0.0,
    *,
    ordered: bool = False,
    inexact: bool = False,
) -> list[str]:
    """What two collections of canonical values differ in, as multisets or in order."""

    def same(one: object, two: object) -> bool:
        return same_value(one, two, type_, magnitude, inexact)

    if ordered and len(expected) == len(found):
        pairs = zip(expected, found, strict=True)
        return [_differs(one, two, type_) for one, two in pairs if not same(one, two)]
    alike = Counter(map(repr, expected)) & Counter(map(repr, found))
    missing, surplus = _without(alike, expected), list[object]()
    for row in _without(alike, found):
        place = next((i for i, each in enumerate(missing) if same(each, row)), None)
        if place is None:
            surplus.append(row)
        else:
            del missing[place]
    return [f"missing {show(row, type_)}" for row in missing] + [f"surplus {show(row, type_)}" for row in surplus]


def _without(alike: Counter[str], rows: Sequence[object]) -> list[object]:
    """The rows that are left when those of the same text are paired off: few, so that each may meet each."""
    paired: Counter[str] = Counter()
    left: list[object] = []
    for row in rows:
        text = repr(row)
        paired[text] += 1
        if paired[text] > alike[text]:
            left.append(row)
    return left


def letters(found: Iterable[DeadLetter]) -> list[tuple[str, str, str]]:
    """Dead letters of the native engine as (task, reason, input)."""
    return [(each.task, each.reason.value, each.input) for each in found]


def compare_calls(
    program: Program, expected: Iterable[Published], found: Iterable[tuple[str, Publication]]
) -> list[str]:
    """What the instructions of a run, by the task that sent them, differ in; their order counts."""
    mine = [(each.task, each.unit, each.arguments) for each in expected]
    other = [(task, each.unit, each.arguments) for task, each in found]
    if len(mine) != len(other):
        return [f"{len(mine)} instructions expected, {len(other)} found"]
    pairs = zip(mine, other, strict=True)
    return [f"expected {one}, found {two}" for one, two in pairs if not _same_call(program, one, two)]


_Call = tuple[str, str, Mapping[str, object]]


def _same_call(program: Program, one: _Call, two: _Call) -> bool:
    if one[:2] != two[:2] or one[2].keys() != two[2].keys():
        return False
    types = {each.name: each.type for each in program.unit(one[1]).parameters}
    return all(same_value(one[2][name], two[2][name], types[name]) for name in one[2])


def compare_dead(expected: Iterable[DeadLetterRow], found: Iterable[tuple[str, str, str]]) -> list[str]:
    """What two collections of dead letters differ in, as multisets of (task, reason, input); inputs as JSON where
    they are.
    """
    mine = Counter((each.task, each.reason.value, _canonical(each.input)) for each in expected)
    other = Counter((task, reason, _canonical(text)) for task, reason, text in found)
    missing, surplus = (mine - other).elements(), (other - mine).elements()
    return [f"missing {letter}" for letter in missing] + [f"surplus {letter}" for letter in surplus]


def _canonical(text: str) -> str:
    """JSON with -0.0 as 0.0, names and keys in order, so that equal records have equal text; other text as it is."""
    try:
        return json.dumps(_ordered(json.loads(text)), ensure_ascii=False, sort_keys=True)
    except (ValueError, RecursionError):
        return text


def _ordered(data: Json) -> Json:
    match data:
        case float():
            return data + 0.0
        case list():
            items = [_ordered(each) for each in cast("list[Json]", data)]
            # A map is a list of pairs where its keys are no strings, and maps have no order.
            pairs = all(isinstance(each, list) and len(cast("list[Json]", each)) == 2 for each in items)
            return sorted(items, key=json.dumps) if pairs else items
        case dict():
            return {name: _ordered(each) for name, each in cast("dict[str, Json]", data).items()}
        case _:
            return data


def same_value(one: object, two: object, type_: Type, magnitude: float = 0.0, inexact: bool = False) -> bool:
    """Whether two canonical values of a type are the same but for the last digits of floats."""
    if one is None or two is None:
        return one is two
    match strip(type_):
        case Float():
            return _same_float(cast("float", one), cast("float", two), magnitude, inexact)
        case List(item=item):
            parts = (cast("list[object]", one), cast("list[object]", two))
            same = (same_value(a, b, item, magnitude, inexact) for a, b in zip(*parts, strict=False))
            return len(parts[0]) == len(parts[1]) and all(same)
        case Struct(fields=fields):
            pairs = zip(cast("tuple[object, ...]", one), cast("tuple[object, ...]", two), fields, strict=True)
            return all(same_value(a, b, field.type, magnitude, inexact) for a, b, field in pairs)
        case Map(value=value):
            mine, other = cast("dict[object, object]", one), cast("dict[object, object]", two)
            return mine.keys() == other.keys() and all(
                same_value(mine[k], other[k], value, magnitude, inexact) for k in mine
            )
        case _:  # scalars are the same where Python says so
            return type(one) is type(two) and one == two


def _same_float(one: float, two: float, magnitude: float, inexact: bool) -> bool:
    if type(one) is not float or type(two) is not float:
        return False
    if math.isnan(one) or math.isnan(two):
        return math.isnan(one) and math.isnan(two)
    of_themselves = max(abs(one), abs(two)) if inexact and math.isfinite(one + two) else 0.0
    return one == two or abs(one - two) <= TOLERANCE * max(magnitude, of_themselves)


def show(value: object, type_: Type) -> str:
    """A value for a message."""
    try:
        return encode(value, type_)
    except (TypeError, ValueError, AttributeError):
        return f"{value!r} (no value of {type_})"


def _differs(one: object, two: object, type_: Type) -> str:
    return f"expected {show(one, type_)}, found {show(two, type_)}"
