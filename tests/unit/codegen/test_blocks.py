"""Chains of row operators as blocks: what is computed once, what can fail where, what is left out."""

from __future__ import annotations

from ghcm.codegen.blocks import Bind, Block, Explode, Keep, block_of, is_guard, steps_of
from ghcm.expr import Get, Literal, Var, free_names
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.optimizer import optimise
from ghcm.source import Source
from ghcm.spg.ops import Fused

PROGRAM = """program p
record R { id: int, text: string, by: int, parts: list<int> }
sink out = parquet("out", mode = append)
stream u {
  memory([R { id: 1, text: "2", by: 3, parts: [1] }])
    %s
    .to(out)
}
"""


def block(operators: str) -> Block:
    """The block of these operators of a record, as one task."""
    unit = optimise(lower(parse(Source("p.istream", PROGRAM % operators)))).program.unit("u")
    (task,) = (each for each in unit.tasks if isinstance(each.op, Fused))
    return block_of(steps_of(task, unit.task(task.inputs[0].producer).collection.element))


def test_the_same_call_of_the_same_values_fails_once_and_is_computed_once() -> None:
    made = block(".filter(r => to_int(r.text) > 1).map(r => { n: to_int(r.text), twice: to_int(r.text) * 2 })")
    first, keep, twice = made.lines
    assert isinstance(first, Bind) and isinstance(keep, Keep) and isinstance(twice, Bind)
    assert [is_guard(line) for line in made.lines] == [True, False, True]
    assert free_names(keep.condition) == {first.name}
    assert made.gives["n"] == Var(first.name, made.gives["n"].type)


def test_what_nothing_reads_goes_unless_a_record_fails_in_it() -> None:
    made = block(
        ".map(r => { id: r.id, long: r.text + r.text, share: r.id // r.by })"
        ".filter(m => m.id != 0).map(m => { id: m.id, known: 2 * 3 })"
    )
    share, keep = made.lines
    assert isinstance(share, Bind) and is_guard(share) and isinstance(keep, Keep)
    known = made.gives["known"]
    assert isinstance(known, Literal) and known.value == 6


def test_the_input_of_an_operator_is_made_of_what_is_live() -> None:
    made = block(
        ".map(r => { id: r.id, half: r.by / 2, parts: r.parts })"
        ".flat_map(m => m.parts.map(p => { id: m.id, part: p, half: m.half }))"
        ".filter(i => i.part // i.id > 0)"
    )
    explode, keep = (line for line in made.lines if isinstance(line, Explode | Keep))
    assert isinstance(explode, Explode) and is_guard(keep)
    given = made.operators[keep.at].input
    assert {name: isinstance(value, Get) for name, value in given.items()} == dict.fromkeys(
        ("id", "part", "half"), True
    )
    names = {name for value in given.values() for name in free_names(value)}
    assert names == {explode.name}
