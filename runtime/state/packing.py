"""The state of operators as bytes: plain Python values and decimals, nothing that could run code when it is read.

What takes long is made when somebody takes the bytes. To find the key groups of many entries takes ten times as long as
to put down what they are, so the loop does the latter, and the thread that writes a snapshot the former. Frames never
change, so that thread writes them as Arrow while the loop goes on with others.
"""

import io
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, TypeVar, cast

import polars as pl

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


_FRAMES_GROUP = 0


class LazyState(Mapping[int, bytes]):
    """Bytes by key group, made when somebody takes them: those of single states once, those of frames each time, since
    whoever holds this may hold it for long.

    All rows of frames lie in key group 0, together with the single states of that group: to find the key groups of
    hundreds of thousands of keys with each snapshot would cost more than all the rest of it, and nobody asks for them
    before a task is divided.
    """

    def __init__(self, single: Callable[[], Mapping[int, bytes]], frames: Sequence[pl.DataFrame]) -> None:
        self._single = cache(single)
        self._frames = frames

    def __getitem__(self, group: int) -> bytes:
        single = self._single()
        if group != _FRAMES_GROUP or not self._frames:
            return single[group]
        return pack((single.get(group), _bytes(pl.concat(self._frames))))

    def __iter__(self) -> Iterator[int]:
        return iter(self._single().keys() | ({_FRAMES_GROUP} if self._frames else ()))

    def __len__(self) -> int:
        return len(list(iter(self)))


E = TypeVar("E")

_PIECE = 1024


def key_groups(
    entries: Iterator[E], group: Callable[[E], int], frames: Sequence[pl.DataFrame] = (), *, change: bool
) -> Mapping[int, bytes]:
    """By key group the entries of it, packed as a list in the order in which they were given, and the rows of frames.
    `change`: whether entries may change from now on, so that they are put down at once.
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

    return LazyState(packed, frames)


def _bytes(frame: pl.DataFrame) -> bytes:
    written = io.BytesIO()
    frame.write_ipc(written)
    return written.getvalue()


def unpack_groups(data: bytes) -> tuple[list[tuple[object, ...]], pl.DataFrame | None]:
    """What a key group holds: single states as they were packed, and rows of a frame."""
    found = unpack(data)
    if isinstance(found, list):
        return cast("list[tuple[object, ...]]", found), None
    packed, written = cast("tuple[bytes | None, bytes]", found)
    return ([] if packed is None else unpack(packed)), pl.read_ipc(io.BytesIO(written))
