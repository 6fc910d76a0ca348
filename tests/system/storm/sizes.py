"""How large the processes of a daemon and the log of its store become in a storm."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psutil

from ghcm.runtime.jobs.database import LOG_BYTES
from tests.system.running import Running

_MB = 1 << 20
_MORE = 64 * _MB
"""What a process may need besides half as much again: threads, and what it gathers for those that are away."""
_JAVA = 2048 * _MB
"""The heap of the Spark driver is 1 GB, and Java needs as much again at most for code, threads and buffers."""
_LOG = 2 * LOG_BYTES
"""The log is begun anew from its size on; a writer that is stopped, or a full disk, puts that off for seconds."""


@dataclass
class Sizes:
    """What was seen of the processes at the begin and the end, and at most of the log. Java is bounded by its heap."""

    daemon: Running
    before: Mapping[str, int] = field(default_factory=dict[str, int])
    last: Mapping[str, int] = field(default_factory=dict[str, int])
    log: int = 0

    def look(self) -> None:
        """See how large the log is now."""
        with suppress(FileNotFoundError):
            self.log = max(self.log, self.daemon.state.store.with_name("jobs.sqlite-wal").stat().st_size)

    def memory(self) -> dict[str, int]:
        """The resident memory of each process now, of those with one name together."""
        found: dict[str, int] = defaultdict(int)
        for name, process in self._processes():
            with suppress(psutil.Error):
                found[name] += process.memory_info().rss
        return dict(found)

    def too_large(self) -> list[str]:
        """What has grown beyond its bound."""
        self.last = self.memory()
        found = [
            f"{name} has {size // _MB} MB, and had {self.before.get(name, 0) // _MB}"
            for name, size in self.last.items()
            if size > (_JAVA if name == "java" else 1.5 * self.before.get(name, size) + _MORE)
        ]
        return found + ([f"the log of the store had {self.log // _MB} MB"] if self.log > _LOG else [])

    def _processes(self) -> Iterator[tuple[str, psutil.Process]]:
        assert self.daemon.process is not None
        yield "daemon", psutil.Process(self.daemon.process.pid)
        listed: Any = self.daemon.control.ask("status")["processes"]
        for each in listed:
            if each["pid"] is not None:
                with suppress(psutil.Error):
                    process = psutil.Process(each["pid"])
                    yield each["name"], process
                    yield from (("java", child) for child in process.children(recursive=True) if child.name() == "java")
