"""States of groups whose values come and go."""

from collections import Counter
from random import Random
from typing import Any

from ghcm.runtime.native.code import GroupCode
from ghcm.runtime.state.merge_tree import MergeTree


def sums(calls: Counter[str]) -> GroupCode:
    """Sums, whose work is counted."""

    def first(value: Any, _: object) -> int:
        calls["first"] += 1
        return int(value)

    def merge(left: Any, right: Any, _: object) -> int:
        calls["merge"] += 1
        return int(left) + int(right)

    return GroupCode(first, merge, merge, lambda state, _: state)


def test_values_come_and_go() -> None:
    chance, tree, held = Random(1), MergeTree(sums(Counter()), {}), Counter[int]()
    for _ in range(3000):
        value = chance.choice([chance.randrange(200), 7])
        by = -1 if held[value] and chance.random() < 0.45 else 1
        held[value] += by
        assert tree.change(value, value, by) == held[value]
        if chance.random() < 0.1:
            assert tree.state() == sum(held.elements())
    assert len(tree) == sum(1 for count in held.values() if count)


def test_values_that_are_alike_take_little_work() -> None:
    calls = Counter[str]()
    tree = MergeTree(sums(calls), {})
    tree.change("one", 1, 1_000_000)
    assert tree.state() == 1_000_000
    assert calls.total() < 50
