"""Ties a process to its parent, then becomes the program: `python -I -S tether.py PARENT SIGNAL PROGRAM ARGUMENT...`.

When the parent ends, even by `kill -9`, the kernel sends SIGNAL to what was started here. Run as a script, so that
programs which are not ours (Redis) are tied as well; imports the standard library only.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    """Become the program. Does not return; where the kernel knows no such tie, the program runs without it."""
    parent, signal, program = int(arguments[0]), int(arguments[1]), arguments[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the tie was made
            sys.exit(f"tether: the parent {parent} has ended")
    try:
        os.execvp(program[0], program)
    except OSError as error:
        sys.exit(f'tether: cannot start "{program[0]}": {error.strerror}')


if __name__ == "__main__":
    main(sys.argv[1:])
