"""Copies lines through a sink that stalls: `python engine_stalled_child.py BASE`.

The sink's writer waits after its first rows until the file BASE/go exists; BASE/stalled says that it waits.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ghcm.runtime.engine import services
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.backend import SinkWriter
from ghcm.runtime.sinks.sink import open_writer
from ghcm.spg.connectors import Files, Format
from ghcm.spg.graph import Program
from ghcm.spg.ops import Source, To
from tests.unit.runtime.small_operators import LINE, engine, sink, task, unit


class Stalled:
    """A writer that waits before its second write until it may go on; everything else is the real one's."""

    def __init__(self, writer: SinkWriter, base: Path) -> None:
        self._writer = writer
        self._base = base
        self._writes = 0

    def write(self, rows: Sequence[Any]) -> None:
        self._writes += 1
        if self._writes == 2:
            (self._base / "stalled").touch()
            while not (self._base / "go").exists():
                time.sleep(0.05)  # a file appears: the test is another process
        self._writer.write(rows)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)


def program() -> Program:
    return Program(
        "small",
        (),
        (sink("copy", "copy", LINE),),
        (
            unit(
                "main",
                task("lines", Source(Files("big.txt", Format("text"))), LINE),
                task("to", To("copy"), LINE, "lines"),
            ),
        ),
    )


def main(base: Path) -> None:
    def open_stalled(*arguments: Any, **options: Any) -> Any:
        return Stalled(open_writer(*arguments, **options), base)

    vars(services)["open_writer"] = open_stalled
    engine(program(), base, connections=Connections(base), commit_s=1.0).run()
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
