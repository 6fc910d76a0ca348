"""The pipeline of passes as a whole: order is checked, nothing is rebuilt without need, the trace says all."""

import pytest

from ghcm.optimizer import PASSES, check_order, optimise
from ghcm.spg.text import parse_program

PLAIN = """program plain

sink out: {n: int} = files("out", format("json")) append

stream u
  a = source(files("a.json", format("json"))) : stream<{n: int}> bounded named
  out.to = to("out") <- a : stream<{n: int}> bounded
"""


def test_a_wrong_order_is_refused() -> None:
    with pytest.raises(ValueError, match='"compress-tasks" requires "no redundant calls are left"'):
        check_order(tuple(reversed(PASSES)))


def test_nothing_to_do_gives_the_same_program() -> None:
    program = parse_program(PLAIN)
    result = optimise(program)
    assert result.program is program
    assert not any(step.changed for step in result.steps)
    assert result.remarks == ()


def test_every_pass_is_seen() -> None:
    seen: list[str] = []
    optimise(parse_program(PLAIN), after_pass=lambda name, _: seen.append(name))
    assert seen == [each.name for each in PASSES]
