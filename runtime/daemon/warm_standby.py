"""A warm standby: a process that has loaded everything an engine needs and waits for its arguments
(`ghcm.runtime.slot.standby`). Started before its daemon has loaded what a daemon needs, and beside the compiler.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path

from ghcm.runtime.daemon.spawning import Command, spawn


class WarmStandby:
    """At most one process that waits. Taken by the first engine that starts; never replaced."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, logs: Path) -> None:
        """Start it; until it is taken it writes into a log of its own."""
        line = [sys.executable, "-u", "-m", "ghcm.runtime.slot.standby"]
        self._process = await spawn(Command("spare", line, logs / "spare.log", SLOT), reports=True)

    def take(self, command: Command) -> asyncio.subprocess.Process | None:
        """The process, made to run this command of an engine; None if there is none that lives."""
        process, self._process = self._process, None
        if process is None or process.returncode is not None or process.stdin is None:
            return None
        words = list(command.arguments)
        order = {
            "arguments": words[words.index("-m") + 2 :],
            "log": str(command.log.absolute()),
            "environment": {**os.environ, **command.environment},
        }
        process.stdin.write(json.dumps(order).encode() + b"\n")
        return process

    async def stop(self) -> None:
        """End it if nobody has taken it."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


SLOT: dict[str, str] = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ARROW_NUM_THREADS"), "1"),
    "POLARS_MAX_THREADS": "2",
    "POLARS_ENGINE_AFFINITY": "in-memory",  # a batch is no stream: as one it takes twice as long
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # the one of its own asks for pages anew with each block
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),  # and so would the system's, for what a block of a few MB takes
    "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # large pages, of which blocks need few
}
"""Thread pools of libraries, capped to what one slot may use: one thread for the loop, and of Polars one more, so that
the loop does not wait for what is decoded or saved beside it. Memory of blocks is kept for the blocks that follow.
"""
