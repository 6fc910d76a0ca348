"""The state of a group whose values come and go: values in leaves, merged states above them.

An aggregation can add values and merge states, and most cannot take a value away again. So what a change makes stale is
made anew on the way from its leaf to the root: the work for one change grows with the logarithm of the group.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import TypeAlias

from ghcm.runtime.native.code import GroupCode, Parameters

_FULL = 32
"""Different values of a leaf, on average, from which on there are twice as many leaves."""
_STALE = object()
_Leaf: TypeAlias = dict[object, tuple[object, int]]


class MergeTree:
    """The values of one group by their identities, with how many are alike."""

    def __init__(self, code: GroupCode, parameters: Parameters) -> None:
        self._code = code
        self._parameters = parameters
        self._leaves: list[_Leaf] = [{}]
        self._states: list[object] = [_STALE, _STALE]
        """Of a binary tree with its root at 1; those of the leaves are the last."""
        self._different = 0

    def change(self, name: object, value: object, by: int) -> int:
        """So many values more (or less) of a name; how many there are now."""
        at = hash(name) & (len(self._leaves) - 1)
        leaf = self._leaves[at]
        count = leaf[name][1] + by if name in leaf else by
        self._different += (count != 0) - (name in leaf)
        if count:
            leaf[name] = value, count
        else:
            leaf.pop(name, None)
        node = at + len(self._leaves)
        while node and self._states[node] is not _STALE:
            self._states[node] = _STALE
            node //= 2
        if self._different > _FULL * len(self._leaves):
            self._grow()
        return count

    def __len__(self) -> int:
        return self._different

    def state(self) -> object:
        """The state of all values that are there, which must not be changed; None where there is none."""
        return self._state(1)

    def _state(self, node: int) -> object:
        if self._states[node] is _STALE:
            leaves = len(self._leaves)
            self._states[node] = self._of_leaf(self._leaves[node - leaves]) if node >= leaves else self._merged(node)
        return self._states[node]

    def _merged(self, node: int) -> object:
        left, right = self._state(2 * node), self._state(2 * node + 1)
        if left is None or right is None:
            return right if left is None else left
        return self._code.merge(deepcopy(left), right, self._parameters)

    def _of_leaf(self, leaf: _Leaf) -> object:
        state: object = None
        for value, count in leaf.values():
            for _ in range(count):
                first = state is None
                state = (
                    self._code.first(value, self._parameters)
                    if first
                    else self._code.add(state, value, self._parameters)
                )
        return state

    def _grow(self) -> None:
        entries = [entry for leaf in self._leaves for entry in leaf.items()]
        count = 2 * len(self._leaves)
        self._leaves = [{} for _ in range(count)]
        for name, held in entries:
            self._leaves[hash(name) & (count - 1)][name] = held
        self._states = [_STALE] * (2 * count)

    def values(self) -> Iterator[tuple[object, int]]:
        """The values, and how many of each."""
        for leaf in self._leaves:
            yield from leaf.values()
