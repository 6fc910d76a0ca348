"""`python -m ghcm.runtime.daemon`: the daemon as a process, for who has no command line installed."""

from __future__ import annotations

import argparse
import logging
import sys
from pathlib import Path

from ghcm.errors import GhcmError
from ghcm.runtime.daemon.daemon import Options, run
from ghcm.runtime.daemon.state import StateDirectory

__all__ = ["main"]


def main() -> None:
    """Be the daemon until told to end; 1 and a message if that is not possible."""
    parser = argparse.ArgumentParser(prog="python -m ghcm.runtime.daemon", description=__doc__)
    parser.add_argument("--state", type=Path, required=True, help="the state directory")
    parser.add_argument("--redis", default="embedded", help='a URL, or "embedded" for a private server')
    parser.add_argument("--host", default="127.0.0.1", help="where HTTP listens")
    parser.add_argument("--port", type=int, default=8400, help="0 takes any free one")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        run(Options(StateDirectory(arguments.state), arguments.redis, arguments.host, arguments.port))
    except GhcmError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
