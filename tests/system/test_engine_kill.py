"""The engine killed with SIGKILL at random moments: sinks hold in the end what they would have held."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.campaigns import times
from tests.system.killed import killed
from tests.tables import left_behind
from tests.unit.runtime.small_operators import dead_letters, rows_of, word_count

KILLS = times(5)


@pytest.mark.slow
def test_kill_9_at_any_moment_loses_and_doubles_nothing(tmp_path: Path) -> None:
    chance = random.Random(7)
    expected: Counter[str] = Counter()
    for number in range(4):
        lines = [[chance.choice(["cat", "dog", "bad", "eel"]) for _ in range(4)] for _ in range(8000)]
        (tmp_path / f"{number}.txt").write_text("\n".join(map(" ".join, lines)) + "\n")
        expected.update(word for line in lines for word in line)
    kills = 0
    while kills < KILLS and killed("tests.system.engine_child", tmp_path, after_s=chance.uniform(0.02, 0.15)):
        kills += 1
    assert not killed("tests.system.engine_child", tmp_path, after_s=0)
    program = word_count("*.txt")
    bad = expected.pop("bad")
    assert kills > 0
    assert Counter(word for (word,) in rows_of(program, "lines", tmp_path)) == expected
    assert dict(rows_of(program, "counts", tmp_path)) == expected  # type: ignore[arg-type]
    assert len(dead_letters(tmp_path, program)) == bad
    assert left_behind(tmp_path) == []
