"""The parent-death signal: the kernel ends a process with its parent, however the parent ended, even by `kill -9`.

A process asks for it itself (`end_with_parent`), or is started through this file, which asks and then becomes the
program: `python -I -S parent_death.py PARENT SIGNAL PROGRAM ARGUMENT...` (`ending_with_parent`). So programs which are
not ours (Redis) end too. Imports the standard library only.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG, _PR_GET_PDEATHSIG = 1, 2


def ending_with_parent(arguments: Sequence[str], on_death: int = signal.SIGKILL) -> list[str]:
    """The arguments that start a program which gets the signal `on_death` when this process ends."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(on_death)), *arguments]


def end_with_parent() -> None:
    """Have the kernel kill this process with its parent, unless whoever started it has asked for a signal already."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    asked = ctypes.c_int(0)
    libc.prctl(_PR_GET_PDEATHSIG, ctypes.byref(asked), 0, 0, 0)
    if not asked.value:
        libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def main(arguments: list[str]) -> None:
    """Become the program. Does not return; where the kernel has no such signal, the program runs without it."""
    parent, on_death, program = int(arguments[0]), int(arguments[1]), arguments[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, on_death, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the kernel was asked
            sys.exit(f"parent_death: the parent {parent} has ended")
    try:
        os.execvp(program[0], program)
    except OSError as error:
        sys.exit(f'parent_death: cannot start "{program[0]}": {error.strerror}')


if __name__ == "__main__":
    main(sys.argv[1:])
