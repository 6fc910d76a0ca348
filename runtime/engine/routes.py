"""Routes: from a tasklet to the instances of one task that reads it. A batch goes to one of them, to all, or in parts.

Watermarks, partitions, barriers and ends go to all to which an edge leads; they are no business of a route.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, assert_never

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.key_groups import GROUPS, grouping, groups_of, key_of, key_type
from ghcm.runtime.engine.edge import Edge
from ghcm.runtime.engine.instances import owner
from ghcm.spg.graph import Broadcast, Exchange, Forward, Global, Hash, Rebalance
from ghcm.spg.instances import hashed
from ghcm.types import Struct


class Route(Protocol):
    """Where a batch goes. Whoever gives one has asked all edges for room before."""

    @property
    def edges(self) -> Sequence[Edge]:
        """Where it leads."""
        ...

    def give(self, batch: Batch) -> None:
        """Hand the batch on."""
        ...


class Direct:
    """To one instance."""

    def __init__(self, edge: Edge) -> None:
        self.edges = (edge,)

    def give(self, batch: Batch) -> None:
        """As `Route.give`."""
        self.edges[0].offer(batch)


class ToAll:
    """To every instance."""

    def __init__(self, edges: Sequence[Edge]) -> None:
        self.edges = edges

    def give(self, batch: Batch) -> None:
        """As `Route.give`."""
        for edge in self.edges:
            edge.offer(batch)


class InTurn:
    """To one instance after the other."""

    def __init__(self, edges: Sequence[Edge]) -> None:
        self.edges = edges
        self._next = 0

    def give(self, batch: Batch) -> None:
        """As `Route.give`."""
        self.edges[self._next].offer(batch)
        self._next = (self._next + 1) % len(self.edges)


class ByKey:
    """Each record to the instance that owns the key group of these columns."""

    def __init__(self, edges: Sequence[Edge], schema: Struct, columns: Sequence[str]) -> None:
        self.edges = edges
        self._names = columns
        self._places = [schema.index(name) for name in columns]
        self._type = key_type(schema, columns)
        self._group = grouping(self._type)
        self._owners = [owner(group, len(edges)) for group in range(GROUPS)]

    def give(self, batch: Batch) -> None:
        """As `Route.give`."""
        parts = self._frames(batch) if batch.columnar else self._rows(batch)
        for edge, part in zip(self.edges, parts, strict=True):
            edge.offer(part)

    def _frames(self, batch: Batch) -> Iterator[Batch]:
        frame = batch.frame()
        owners = groups_of(key_of(frame, self._names), self._type) * len(self.edges) // GROUPS
        for number in range(len(self.edges)):
            yield batch.with_frame(batch.schema, frame.filter(owners == number))

    def _rows(self, batch: Batch) -> Iterator[Batch]:
        parts: list[list[tuple[object, ...]]] = [[] for _ in self.edges]
        places, group, owners = self._places, self._group, self._owners
        only = places[0] if len(places) == 1 else None
        for row in batch.rows():
            key = row[only] if only is not None else tuple([row[place] for place in places])
            parts[owners[group(key)]].append(row)
        for part in parts:
            yield batch.with_rows(batch.schema, part)


def route(exchange: Exchange, edges: Sequence[Edge], schema: Struct) -> Route:
    """The route by which records of this schema come to instances that these edges lead to."""
    if len(edges) == 1:
        return Direct(edges[0])
    match exchange:
        case Hash():
            return ByKey(edges, schema, hashed(exchange, schema))
        case Broadcast():
            return ToAll(edges)
        case Rebalance():
            return InTurn(edges)
        case Forward() | Global():
            raise AssertionError(f"{exchange} leads to one instance")
        case _:
            assert_never(exchange)
