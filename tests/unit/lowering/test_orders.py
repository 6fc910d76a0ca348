"""Orders whose parts go in different directions, against Python's own sorting."""

from __future__ import annotations

import math
from itertools import product

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.source import Source
from ghcm.spg.reference import run

PROGRAM = """program orders
record Text {{ x: string?, n: string?, ok: bool, s: string }}
responsive batch b {{
  memory([{rows}]).as(Text).map(t => {{ ...t, x: to_float(t.x), n: to_int(t.n) }}).sort(by = r => {by}).reply()
}}
"""
FLOATS = ("null", '"nan"', '"-0.0"', '"0.0"', '"1.5"', '"-inf"')
INTS = ("null", '"9223372036854775807"', '"-9223372036854775808"', '"0"')


def texts() -> list[str]:
    rows = product(FLOATS, INTS, ("true", "false"), ('"a"', '"b"'))
    return [f"{{ x: {x}, n: {n}, ok: {ok}, s: {s} }}" for x, n, ok, s in rows]


def greatest_last(value: object) -> tuple[int, float | int | str]:
    """As the language orders: null is least, NaN greatest."""
    if value is None:
        return (0, 0)
    assert isinstance(value, float | int | str)
    return (
        (2, 0)
        if isinstance(value, float) and math.isnan(value)
        else (1, value + 0.0 if isinstance(value, float) else value)
    )


def test_each_part_goes_in_its_direction() -> None:
    text = PROGRAM.format(rows=", ".join(texts()), by="(desc(r.x), r.n, desc(r.ok), asc(r.s))")
    found = run(lower(parse(Source("orders", text))), "b").reply or []
    rows = [row for row in found if isinstance(row, tuple)]
    expected = sorted(rows, key=lambda row: greatest_last(row[3]))
    expected.sort(key=lambda row: greatest_last(row[2]), reverse=True)
    expected.sort(key=lambda row: greatest_last(row[1]))
    expected.sort(key=lambda row: greatest_last(row[0]), reverse=True)
    assert len(rows) == len(texts())
    assert [repr(row) for row in rows] == [repr(row) for row in expected]
