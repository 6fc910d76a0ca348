"""Where the process of the command line begins: before anything is imported that takes time.

Ctrl-C ends it at once until a command runs, which then says so in order; nobody is shown a traceback of imports.
"""

import signal

from ghcm.collector import end_at_once, search_rarely


def main() -> None:
    """Run the command that the arguments name. Never returns."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    search_rarely()
    end_at_once()
    from ghcm.cli.main import main as run

    run()
