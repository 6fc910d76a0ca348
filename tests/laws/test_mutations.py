"""Damaged programs: none raises, hangs or keeps memory."""

from tests.campaigns import times
from tests.laws.mutations import mutate

COUNT = times(1_200)
MOST_GROWTH = 60_000_000
"""Bytes: what caches may take between the first tenth and the end."""


def test_damaged_programs_are_explained_or_sound() -> None:
    report = mutate(COUNT)
    print("\n".join(report.lines()))
    assert report.failures == []
    assert report.count == COUNT
    assert COUNT * 0.01 < report.sound < COUNT * 0.9
    assert report.memory[1] - report.memory[0] < MOST_GROWTH
