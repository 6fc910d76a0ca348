"""A source of which only some columns go on: those that a task reads."""

from collections.abc import Callable, Sequence

from ghcm.runtime.data.batch import Batch
from ghcm.runtime.formats.chunks import Letters
from ghcm.runtime.sources.source import Divisible, Measured, Paced, Source
from ghcm.spg.graph import Task
from ghcm.types import Struct


class SomeColumns:
    """Reads what another source reads, and gives these columns of it."""

    def __init__(self, source: Source, schema: Struct, whole: Struct) -> None:
        self._source = source
        self._schema = schema
        self._places = [whole.index(name) for name in schema.names]
        self.replayable = source.replayable

    def open(self, position: object, wake: Callable[[], None]) -> None:
        """As the source."""
        self._source.open(position, wake)

    def divide(self, number: int, of: int) -> None:
        """As the source; one that cannot be divided has one instance."""
        if isinstance(self._source, Divisible):
            self._source.divide(number, of)

    def together(self, positions: Sequence[object]) -> object:
        """As the source; one that cannot be divided has one position."""
        return self._source.together(positions) if isinstance(self._source, Divisible) else positions[0]

    def pace(self, rest: Callable[[], float]) -> None:
        """As the source, where that makes larger batches."""
        if isinstance(self._source, Paced):
            self._source.pace(rest)

    def partitions(self) -> frozenset[str]:
        """As the source."""
        return self._source.partitions()

    def poll(self, rows: int, letters: Letters) -> Batch | None:
        """What is there, without the other columns."""
        batch = self._source.poll(rows, letters)
        if batch is None:
            return None
        if batch.columnar:
            return batch.with_frame(self._schema, batch.frame().select(self._schema.names))
        return batch.with_rows(self._schema, [tuple([row[place] for place in self._places]) for row in batch.rows()])

    @property
    def ended(self) -> bool:
        """As the source."""
        return self._source.ended

    @property
    def due(self) -> float | None:
        """As the source."""
        return self._source.due

    def share(self) -> float | None:
        """As the source, where that knows."""
        return self._source.share() if isinstance(self._source, Measured) else None

    def position(self) -> object:
        """As the source."""
        return self._source.position()

    def close(self) -> None:
        """As the source."""
        self._source.close()


def some_columns(source: Source, task: Task) -> Source:
    """The source of a task as the task gives it on."""
    return source if task.whole == task.schema else SomeColumns(source, task.schema, task.whole)
