"""A private Redis server as the daemon starts it, for tests that kill it."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from ghcm.runtime.parent_death import ending_with_parent
from ghcm.runtime.pubsub.embedded import embedded_command, embedded_url
from tests.redis_server import await_redis


@dataclass
class PrivateRedis:
    """The server with its data in `directory`; it may be started again after it was killed, at the same URL."""

    directory: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return embedded_url(self.directory)

    def start(self) -> str:
        """Its URL, once it answers."""
        line = ending_with_parent(embedded_command(self.directory))
        log = self.directory / "redis.log"
        with log.open("ab") as output:
            self.process = subprocess.Popen(line, cwd=self.directory, stdout=output)
        await_redis(self.url, log)
        return self.url

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        self.process.wait(10)
