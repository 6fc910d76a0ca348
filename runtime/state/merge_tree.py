"""The state of a group whose values come and go: values in leaves, merged states above them.

An aggregation can add values and merge states, and most cannot take a value away again. So what a change makes stale is
made anew on the way from its leaf to the root: the work for one change grows with the logarithm of the group, however
many of its values are alike.
"""

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
        return self._both(self._state(2 * node), self._state(2 * node + 1))

    def _both(self, left: object, right: object) -> object:
        """A state of two, which stay as they are."""
        if left is None or right is None:
            return right if left is None else left
        return self._code.merge(deepcopy(left), right, self._parameters)

    def _of_leaf(self, leaf: _Leaf) -> object:
        state: object = None
        for value, count in leaf.values():
            state = self._both(state, self._of_value(value, count))
        return state

    def _of_value(self, value: object, count: int) -> object:
        """The state of a value so many times, by those of it once, twice, four times."""
        state: object = None
        power = self._code.first(value, self._parameters) if count > 0 else None
        while count > 0:
            if count & 1:
                state = self._both(state, power)
            count >>= 1
            power = self._both(power, power) if count else None
        return state

    def _grow(self) -> None:
        entries = [entry for leaf in self._leaves for entry in leaf.items()]
        count = 2 * len(self._leaves)
        self._leaves = [{} for _ in range(count)]
        for name, held in entries:
            self._leaves[hash(name) & (count - 1)][name] = held
        self._states = [_STALE] * (2 * count)
