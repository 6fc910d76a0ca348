"""The dead letters of a unit on their way to its dead-letter table: counted, bounded, committed with the snapshot
they belong to.
"""

from collections.abc import Callable, Sequence

from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.sinks.backend import SinkWriter
from ghcm.runtime.worker import Worker

_MOST_BYTES = 32 << 20


class DeadLetterWriter:
    """Writes dead letters through a writer that is opened when the first one comes. `count`: letters so far, restarts
    included.
    """

    def __init__(
        self, open_writer: Callable[[], SinkWriter], worker: Worker, failed: Callable[[Exception], None]
    ) -> None:
        self.count = 0
        self._open_writer = open_writer
        self.worker = worker
        self._failed = failed
        self._writer: SinkWriter | None = None
        self._held = 0

    @property
    def congested(self) -> bool:
        """Whether more letters wait for their commit than memory should hold; sources rest until then."""
        return self._held > _MOST_BYTES

    def note(self, letter: DeadLetter) -> None:
        """A record has failed."""
        self.count += 1
        self._held += _weight(letter)

    def take_back(self, letters: Sequence[DeadLetter]) -> None:
        """What was noted and is not written will be noted again."""
        self.count -= len(letters)
        self._held -= sum(map(_weight, letters))

    def prepare(
        self,
        letters: Sequence[DeadLetter],
        version: str,
        done: Callable[[str | None], None],
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        """Write and prepare these letters as a version, then call `done` with it, or with None if there are none."""
        if not letters:
            done(None)
            return
        rows = [letter.row() for letter in letters]

        def prepare() -> None:
            writer = self._opened()
            if not writer.pending:
                writer.write(rows)
            writer.prepare(version)

        def prepared(_: None) -> None:
            self._held -= sum(map(_weight, letters))
            done(version)

        self.worker.submit(prepare, prepared, failed or self._failed)

    def commit(
        self, version: str | None, done: Callable[[], None], failed: Callable[[Exception], None] | None = None
    ) -> None:
        """Make a version visible, then call `done`."""
        if version is None:
            done()
            return
        self.worker.submit(lambda: self._opened(version).commit(version), lambda _: done(), failed or self._failed)

    def recover(self, committed: str | None, count: int, done: Callable[[], None]) -> None:
        """After a restart from a snapshot: drop what was left, commit again what is committed."""
        self.count = count

        def recover() -> None:
            writer = self._opened(committed)
            if committed:
                writer.commit(committed)

        self.worker.submit(recover, lambda _: done(), self._failed)

    def close(self) -> None:
        """Give back the writer and end the thread."""

        def close() -> None:
            if self._writer is not None:
                self._writer.close()

        self.worker.close(close)

    def _opened(self, committed: str | None = None) -> SinkWriter:
        """The writer. Opened, it drops what one has left that was killed, ahead of its first snapshot too."""
        if self._writer is None:
            self._writer = self._open_writer()
            self._writer.recover([committed] if committed else [])
        return self._writer


def _weight(letter: DeadLetter) -> int:
    return 400 + len(letter.input) + len(letter.detail)
