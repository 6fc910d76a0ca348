"""The audit log: who called, cancelled, submitted and stopped, who was refused, and from where; lines of JSON in a file
for its owner alone.

Several processes write into it, a line each, in the order in which they have it to themselves. It never grows beyond so
many files of so many bytes. Where a line cannot be written, that is told to the log of the process, and work goes on.
"""

import fcntl
import json
import logging
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

log = logging.getLogger("ghcm.audit")

_REFUSALS_A_SECOND = 20


@dataclass(slots=True)
class AuditLog:
    """`most` bytes are in each of `files` files: the path itself, then `.1`, the newest of those before, and so on."""

    path: Path
    most: int = 10_000_000
    files: int = 10
    _second: int = 0
    _refusals: int = 0

    def note(self, action: str, *, caller: str, origin: str, **about: object) -> None:
        """Add a line: what was done by whom, from where, and what else is known of it."""
        moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        known = {name: value for name, value in about.items() if value is not None}
        line = {"time": moment, "action": action, "caller": caller, "from": origin, **known}
        try:
            with self._held() as file:
                os.write(file, json.dumps(line, ensure_ascii=True).encode() + b"\n")
        except OSError as error:
            log.error("%s cannot be written (%s): %s", self.path, error, line)

    def refused(self, *, caller: str, origin: str, **about: object) -> None:
        """Note that somebody was refused. Of very many at once only how many are left out, so that nobody can quickly
        drive out of the log what others did.
        """
        second = int(time.time())
        left_out = max(0, self._refusals - _REFUSALS_A_SECOND) if second != self._second else 0
        self._refusals = self._refusals + 1 if second == self._second else 1
        self._second = second
        if self._refusals <= _REFUSALS_A_SECOND:
            self.note("refused", caller=caller, origin=origin, **about, left_out=left_out or None)

    @contextmanager
    def _held(self) -> Generator[int]:
        """The file with room for a line, for us alone."""
        file = self._opened()
        try:
            if os.fstat(file).st_size >= self.most:
                self._rotate()
                os.close(file)
                file = self._opened()
            yield file
        finally:
            os.close(file)

    def _opened(self) -> int:
        """The file that bears the name once it is ours."""
        while True:
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(file, fcntl.LOCK_EX)
            try:
                if os.fstat(file).st_ino == self.path.stat().st_ino:
                    return file
            except FileNotFoundError:
                pass
            os.close(file)  # somebody has given it another name meanwhile

    def _rotate(self) -> None:
        names = [self.path, *(Path(f"{self.path}.{number}") for number in range(1, self.files))]
        for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
            if newer.exists():
                newer.replace(older)
