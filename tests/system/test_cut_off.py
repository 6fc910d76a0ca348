"""A daemon that is told twice to end, while its Redis hangs."""

import os
import signal
from pathlib import Path

import pytest

from tests.system.running import PATIENCE, gone, running

pytestmark = [pytest.mark.system, pytest.mark.slow]


def test_a_redis_that_hangs_holds_up_nobody_who_asks_twice(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        redis, process = daemon.pid("redis"), daemon.process
        assert redis is not None and process is not None
        below = daemon.processes()
        os.kill(redis, signal.SIGSTOP)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        assert gone(below), below
        assert "redis did not stop within" not in daemon.log("daemon")
