"""Dead letters on the way to their table."""

import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

from ghcm.functions import Failure
from ghcm.runtime.data.dead_letter import DEAD_LETTER, DeadLetter
from ghcm.runtime.sinks.dead_letters import DeadLetterWriter
from ghcm.runtime.sinks.sink import open_writer
from ghcm.runtime.worker import Worker
from ghcm.source import Origin
from ghcm.spg.connectors import Files, Format, Mode
from ghcm.spg.graph import Sink
from tests.redis_server import connected
from tests.tables import left_behind

HERE = Origin("p", 1, 1)
TABLE = Sink("dead", Files("dead", Format("json")), Mode.APPEND, None, DEAD_LETTER, HERE)


def test_what_a_killed_process_has_begun_is_dropped_ahead_of_the_first_letters(tmp_path: Path) -> None:
    connections = connected(tmp_path)
    letter = DeadLetter("u", "t", Failure.OVERFLOW, "too large", "1", "p:1:1")
    killed = open_writer(TABLE, connections, writer="u")
    killed.write([letter.row()])
    assert left_behind(tmp_path) != []
    told, results = SimpleQueue[Callable[[], None]](), SimpleQueue[str | None]()
    worker = Worker("test", told.put)
    letters = DeadLetterWriter(lambda: open_writer(TABLE, connections, writer="u"), worker, _raise)
    letters.prepare([letter], "1", results.put)
    told.get(timeout=30)()
    assert results.get(timeout=30) == "1"
    letters.commit("1", lambda: results.put(None))
    told.get(timeout=30)()
    letters.close()
    worker.join(time.monotonic() + 30)
    assert left_behind(tmp_path) == []
    killed.close()


def _raise(error: Exception) -> None:
    raise error
