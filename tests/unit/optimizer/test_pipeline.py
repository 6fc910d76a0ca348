"""The pipeline of passes as a whole: order is checked, nothing is rebuilt without need, the trace says all."""

import pytest

from ghcm.optimizer import PASSES, broken_claims, check_order, optimise
from ghcm.spg.text import parse_program

PLAIN = """program plain

sink out: {n: int} = files("out", format("json")) append

stream u
  a = source(files("a.json", format("json"))) : stream<{n: int}> bounded named
  out.to = to("out") <- a : stream<{n: int}> bounded
"""


def test_a_wrong_order_is_refused() -> None:
    with pytest.raises(ValueError, match='"expand-tasks" requires "every chain of operations on single'):
        check_order(tuple(reversed(PASSES)))


def test_nothing_to_do_gives_the_same_program() -> None:
    program = parse_program(PLAIN)
    result = optimise(program)
    assert result.program is program
    assert not any(step.changed for step in result.steps)
    assert result.remarks == ()


def test_every_pass_is_seen() -> None:
    seen: list[str] = []
    optimise(parse_program(PLAIN), after_pass=lambda each, _: seen.append(each.name))
    assert seen == [each.name for each in PASSES]


BROKEN = """program broken

sink out: {n: int} = files("out", format("json")) append

stream u
  a = source(files("a.json", format("json"))) : stream<{n: int}> bounded named
  b = filter((r: {n: int}) => r.n > 0) <- a : stream<{n: int}> bounded
  c = filter((r: {n: int}) => r.n > 1) <- b : stream<{n: int}> bounded
  out.to = to("out") <- c : stream<{n: int}> bounded
  unread = distinct() <- a : stream<{n: int}> bounded
"""


def test_each_claim_is_checked() -> None:
    found = list(broken_claims(PASSES[-1], parse_program(BROKEN)))
    assert found == [
        'every task reaches an end or is a readable table, but "u.unread" reaches no end',
        'no redundant calls are left, but "u.c" behind "b" is redundant: filter(p).filter(q) = filter(p and q)',
        'every chain of operations on single records is one task, but "u.c" could be one with "b"',
    ]


def test_every_fact_of_a_pass_is_established_by_one() -> None:
    claimed = {fact for each in PASSES for fact in each.establishes}
    assert {fact for each in PASSES for fact in each.requires} <= claimed
