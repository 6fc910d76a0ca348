"""`python -m ghcm.supervisor`: the HTTP process. The daemon starts it with a socket that is already bound."""

import argparse
import socket
from pathlib import Path

from ghcm.collector import end_at_once
from ghcm.runtime.daemon.control import is_loopback, listen
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.logs import start_logging
from ghcm.runtime.settings import load_settings
from ghcm.supervisor.app import Supervisor
from ghcm.supervisor.server import server


def main() -> None:
    """Serve until told to end."""
    parser = argparse.ArgumentParser(prog="python -m ghcm.supervisor", description=__doc__)
    parser.add_argument("--state", type=Path, required=True, help="the state directory of the daemon")
    parser.add_argument("--fd", type=int, help="a listening socket to take over")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    end_at_once()
    settings = load_settings({"state": arguments.state})
    start_logging(settings.log)
    listener = listen(arguments.host, arguments.port) if arguments.fd is None else socket.socket(fileno=arguments.fd)
    elsewhere, beats = not is_loopback(listener), arguments.fd is not None
    state = StateDirectory(arguments.state)
    supervisor = Supervisor(state, settings.redis, settings, arguments.host, elsewhere, beats)
    # Not uvicorn's `fd`: it takes every descriptor for a Unix socket, so that Nagle's algorithm stays on and each
    # answer waits 40 ms for an acknowledgement.
    server(supervisor, arguments.host, arguments.port, settings.http).run([listener])


if __name__ == "__main__":
    main()
