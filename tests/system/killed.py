"""Processes of tests that the kernel kills at a moment of their work, as `kill -9` does.

A moment is told in seconds of work on a processor: those of a clock are over before a slow machine has begun, and when
a fast one has ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from tests.conftest import ROOT

_AFTER_S = "KILLED_AFTER_S"


def killed(module: str, *words: object, after_s: float, environment: dict[str, str] | None = None) -> bool:
    """Run `python -m module *words` until it is killed; False if it came to its end and printed "done" before. With
    0 seconds it lives.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, words)],
        check=False,
        cwd=ROOT,
        env={**(os.environ if environment is None else environment), _AFTER_S: str(after_s)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode == -signal.SIGPROF:
        return True
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["done"]), done.stderr
    return False


def count_down() -> None:
    """Called in such a process, when all is loaded and its work begins."""
    signal.setitimer(signal.ITIMER_PROF, float(os.environ.get(_AFTER_S, "0")))
