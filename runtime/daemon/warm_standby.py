"""A warm standby: a process that has loaded everything an engine needs and waits for its arguments
(`ghcm.runtime.slot.standby`). Started beside the compiler, it takes half a second off the first result.
"""

import asyncio
import contextlib

from ghcm.runtime.daemon.child import Command, spawn
from ghcm.runtime.daemon.protocol import encode


class WarmStandby:
    """At most one process that waits. Taken by the first engine that starts; never replaced."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it."""
        self._process = await spawn(self._command, reports=True)

    def take(self, command: Command) -> asyncio.subprocess.Process | None:
        """The process, made to run this command of an engine; None if there is none that lives."""
        process, self._process = self._process, None
        if process is None or process.returncode is not None or process.stdin is None:
            return None
        words = list(command.arguments)
        arguments = words[words.index("-m") + 2 :]
        process.stdin.write(encode({"arguments": arguments, "log": str(command.log.absolute())}))
        return process

    async def stop(self) -> None:
        """End it if nobody has taken it."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
