"""Ties a process of the daemon to its parent: the kernel ends the one with the other, however that ended.

`daemon.tether` does so from outside, before the process becomes what it is; here it does so itself.
"""

from __future__ import annotations

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG, _PR_GET_PDEATHSIG = 1, 2


def end_with_parent() -> None:
    """Have the kernel end this process with its parent, unless whoever started it has seen to that."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    tied = ctypes.c_int(0)
    libc.prctl(_PR_GET_PDEATHSIG, ctypes.byref(tied), 0, 0, 0)
    if not tied.value:
        libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
