"""What the daemon tells while one does other things: its events, and ticks between them."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator

from ghcm.errors import GhcmError
from ghcm.runtime.daemon.protocol import Control, Document


class Events:
    """Heard from the moment it is made. To be iterated once: events as they come, `{"event": "tick"}` every `seconds`,
    and `{"event": "gone"}` when the daemon has ended.
    """

    def __init__(self, control: Control, seconds: float) -> None:
        self._seconds = seconds
        self._heard: queue.Queue[Document] = queue.Queue()
        self._stream = control.stream("watch", name="events")
        self._heard.put(next(self._stream))
        threading.Thread(target=self._listen, name="events", daemon=True).start()

    def __iter__(self) -> Iterator[Document]:
        due = time.monotonic() + self._seconds
        while True:
            try:
                yield self._heard.get(timeout=max(0.0, due - time.monotonic()))
            except queue.Empty:
                yield {"event": "tick"}
                due = time.monotonic() + self._seconds

    def _listen(self) -> None:
        try:
            for event in self._stream:
                self._heard.put(event)
        except (GhcmError, OSError):
            pass  # however it ended, it has
        self._heard.put({"event": "gone"})
