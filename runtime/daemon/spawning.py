"""How a child process of the daemon begins: its command, and a parent-death signal. Loads little, so that a process can
be started before the daemon itself has loaded.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ghcm.places import private_opener
from ghcm.runtime.daemon.protocol import LONGEST_LINE
from ghcm.runtime.parent_death import ending_with_parent


@dataclass(frozen=True, slots=True)
class Command:
    """What is run: the arguments, what the environment has besides ours, descriptors to inherit, the log."""

    name: str
    arguments: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    inherits: Sequence[int] = ()
    patience: float = 10.0
    """Seconds between asking it to stop (SIGTERM) and making it (SIGKILL)."""


async def spawn(command: Command, *, reports: bool) -> asyncio.subprocess.Process:
    """Start a process that ends with this one. `reports`: its standard output is for us, not for the log."""
    command.log.parent.mkdir(parents=True, exist_ok=True)
    with open(command.log, "ab", opener=private_opener) as output:
        return await asyncio.create_subprocess_exec(
            *ending_with_parent(command.arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE if reports else output,
            stderr=output,
            limit=LONGEST_LINE,
            env={**os.environ, **command.environment},
            pass_fds=tuple(command.inherits),
            start_new_session=True,  # Ctrl-C reaches the daemon alone, which stops its children in order
        )
