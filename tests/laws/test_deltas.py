"""Loops on what is new: wherever the pass rewrites one, the reference gives the same; a wrong rule is caught."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.optimizer import deltas
from ghcm.optimizer.deltas import WORK_ON_DELTAS
from ghcm.optimizer.passes import Remarks, Verdict
from ghcm.source import Source
from ghcm.spg.graph import Program
from ghcm.spg.reference import run
from ghcm.spg.verify import verify

KNOWN = (
    "s.map(r => r with { fresh: false })",
    "s.map(r => r with { fresh: false, left: 0 })",
    "s.map(r => r with { n: r.left, fresh: false })",
    "s.map(r => r with { n: r.left, left: r.n, fresh: false })",
    "s.map(r => r with { fresh: false, n: r.n + 1 })",
    "s.map(r => r with { fresh: not r.fresh })",
    "s.map(r => r with { left: 1 })",
    "s.filter(r => r.n != 4).map(r => r with { fresh: false })",
    "s",
)
TAKEN = (
    "r.fresh",
    "r.fresh and r.n < 50",
    "not r.fresh",
    "r.fresh or r.n > 3",
    "r.fresh and 10 // r.n > 0",
    "r.left == 1",
)
NEW = (
    ".map(r => r with { n: r.n * 2, fresh: true })",
    ".flat_map(r => [r with { n: r.n // (r.n - 2), fresh: r.n > 3 }, r with { left: r.n, fresh: true }])",
    ".key_by(r => r.n % 3).aggregate_by_key(best = last(value, order = r => (r.n, r.left))).map(p => p.value.best)",
)
TEXT = """program loops
record R {{ n: int, left: int, fresh: bool }}
sink out = files("out")
batch u {{
  memory([{{ n: 1, left: 5, fresh: true }}, {{ n: 2, left: 0, fresh: true }}, {{ n: 4, left: 4, fresh: false }},
          {{ n: 4, left: 1, fresh: true }}, {{ n: 0, left: 2, fresh: true }}]).as(R)
    .iterate(step = s => union({known}, s.filter(r => {taken}){new}),
             until = (b, a) => a.count() == b.count() and a.sum(r => r.n) == b.sum(r => r.n), limit = 4).to(out)
}}
"""


def _loops() -> list[Program]:
    texts = (TEXT.format(known=known, taken=taken, new=new) for known, taken, new in product(KNOWN, TAKEN, NEW))
    return [lower(parse(Source("loops.istream", text))) for text in texts]


def _left(program: Program) -> tuple[object, ...]:
    found = run(program, "u")
    return found.sinks["out"], found.rounds, Counter((each.task, each.input) for each in found.dead)


def test_loops_on_what_is_new_give_what_loops_on_everything_give() -> None:
    remarks = Remarks("work-on-deltas")
    for program in _loops():
        on_deltas = WORK_ON_DELTAS.run(program, remarks)
        assert verify(on_deltas) == []
        if on_deltas is not program:
            assert _left(on_deltas) == _left(program)
    applied = [each for each in remarks.made if each.verdict is Verdict.APPLIED]
    refused = {each.reason for each in remarks.made if each.verdict is Verdict.DECLINED}
    assert len(applied) >= 20
    assert refused == {
        "a round puts together the whole state and what is new",
        "what is known would be changed again",
        '"out/step/filter" may let through what is known',
        'a record may fail in "out/step/filter", and would do so in every round',
        'a record may fail in "out/step/map", and would do so in every round',
        '"out/step/filter" is not made of what is known by maps alone',
    }


@pytest.mark.parametrize("mistake", ["_check", "_idempotent"])
def test_a_wrong_rule_is_caught(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop whose merge is not idempotent, or whose known records go on, would be another one on what is new."""

    def nothing(*_: object) -> None: ...

    monkeypatch.setattr(deltas, mistake, nothing)
    rewritten = [(program, WORK_ON_DELTAS.run(program, Remarks("wrong"))) for program in _loops()]
    assert any(wrong is not program and _left(wrong) != _left(program) for program, wrong in rewritten)
