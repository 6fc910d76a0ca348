"""Programs over real topics, run by an engine in this process or in one that tests may kill."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from signal import SIGKILL
from threading import Event
from typing import Any

from confluent_kafka.admin import AdminClient

from ghcm.optimizer import optimise
from ghcm.runtime.data.columns import Row
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.pubsub.kafka_connection import Kafka
from ghcm.runtime.settings import load_settings
from ghcm.runtime.sinks.backend import Commit
from ghcm.runtime.sinks.kafka_sink import TransactionalWriter
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from tests.conformance.live_runs import Compiled, checked
from tests.kafka_server import client
from tests.system.killed import count_down

__all__ = ["KafkaRun", "admin"]


class KafkaRun:
    """An engine over a directory and a Kafka; with `patience` (seconds) for brokers that are away."""

    def __init__(
        self, base: Path, text: str, settings: Kafka, *, commit_s: float = 0.01, patience: float = 30.0
    ) -> None:
        self.program = optimise(checked(text)).program
        self.connections = Connections(base, kafka=settings, patience=patience)
        self._changed = Event()
        self.engine = Engine(
            Compiled(self.program),
            connections=self.connections,
            state=base / "state",
            commit_s=commit_s,
            changed=self._changed.set,
        )

    def __enter__(self) -> KafkaRun:
        self.engine.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()

    def until(self, done: Callable[[], bool]) -> None:
        """Wait for a commit behind which that holds."""
        while not done():
            self.engine.check()
            assert self._changed.wait(60)
            self._changed.clear()

    def rows(self, sink: str) -> list[Row]:
        """What a sink holds."""
        return sorted(read(self.program.sink(sink), self.connections), key=repr)


@cache
def admin() -> Any:
    """Who may change topics of the session's Kafka; lives on, since what it is asked is done beside."""
    return AdminClient(client())


def main(base: Path, program: Path, moment: str) -> None:
    """Run to the end, or kill oneself at this moment of a commit: "prepared", "sent" or "committed"."""
    if moment:
        _die_at(moment)
    settings = load_settings().kafka
    count_down()
    with KafkaRun(base, program.read_text(), settings, commit_s=0.02) as run:
        run.engine.wait()
        run.engine.check()
    print("done", flush=True)


def _die_at(moment: str) -> None:
    """What stands before and behind the steps of a commit is left to nobody's luck."""
    commit, send = TransactionalWriter.commit, TransactionalWriter._send

    def committing(self: TransactionalWriter, version: str) -> Commit:
        if moment == "prepared" and self._staged(version).exists():
            os.kill(os.getpid(), SIGKILL)
        return commit(self, version)

    def sending(self: TransactionalWriter, producer: Any, staged: Path) -> int:
        rows = send(self, producer, staged)
        if moment == "sent":
            producer.flush(10)
            os.kill(os.getpid(), SIGKILL)
        return rows

    TransactionalWriter.commit = committing  # type: ignore[method-assign]
    TransactionalWriter._send = sending  # type: ignore[method-assign]
    if moment == "committed":
        unlink = Path.unlink

        def unlinking(self: Path, missing_ok: bool = False) -> None:
            if "staged" in self.parts and ".open-" not in self.name and self.exists():
                os.kill(os.getpid(), SIGKILL)
            unlink(self, missing_ok)

        Path.unlink = unlinking  # type: ignore[method-assign]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")
