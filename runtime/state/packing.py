"""The state of operators as bytes: plain Python values and decimals, nothing that could run code when it is read.

What takes long is made when somebody takes the bytes. To find the key groups of many entries takes ten times as long as
to put down what they are, so the loop does the latter, and the thread that writes a snapshot the former.
"""

import io
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, TypeVar, cast

_ALLOWED = {("decimal", "Decimal")}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _ALLOWED:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f'a state holds "{module}.{name}"')


def pack(value: object) -> bytes:
    """The bytes of nested tuples, lists, dicts and canonical values."""
    return pickle.dumps(value, protocol=5)


def unpack(data: bytes) -> Any:
    """The inverse of `pack`; `pickle.UnpicklingError` for anything else."""
    return _Reader(io.BytesIO(data)).load()


class LazyState(Mapping[int, bytes]):
    """Bytes by key group, made when somebody takes them, once."""

    def __init__(self, groups: Callable[[], Mapping[int, bytes]]) -> None:
        self._groups = cache(groups)

    def __getitem__(self, group: int) -> bytes:
        return self._groups()[group]

    def __iter__(self) -> Iterator[int]:
        return iter(self._groups())

    def __len__(self) -> int:
        return len(self._groups())


E = TypeVar("E")

_PIECE = 1024


def key_groups(entries: Iterator[E], group: Callable[[E], int], *, change: bool) -> Mapping[int, bytes]:
    """By key group the entries of it, packed as a list in the order in which they were given. `change`: whether entries
    may change from now on, so that they are put down at once.
    """
    pieces: list[bytes | Sequence[E]] = []
    while piece := list(islice(entries, _PIECE)):
        pieces.append(pack(piece) if change else piece)

    def packed() -> Mapping[int, bytes]:
        groups: dict[int, list[E]] = {}
        for piece in pieces:
            held: Any = unpack(piece) if isinstance(piece, bytes) else piece
            for entry in cast("Sequence[E]", held):
                groups.setdefault(group(entry), []).append(entry)
        pieces.clear()
        return {group: pack(of_group) for group, of_group in groups.items()}

    return LazyState(packed)
