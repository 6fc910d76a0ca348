"""`python -m ghcm.runtime.daemon`: the daemon as a process, for who has no command line installed."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ghcm.collector import end_at_once, search_rarely

if TYPE_CHECKING:
    from ghcm.runtime.daemon.protocol import Document


def _announce(said: Document) -> None:
    from ghcm.runtime.daemon.protocol import encode

    print(encode(said).decode(), end="", flush=True)


def main() -> None:
    """Be the daemon until told to end. Prints its status as a JSON line once it listens, or why it cannot."""
    search_rarely()
    parser = argparse.ArgumentParser(prog="python -m ghcm.runtime.daemon", description=__doc__)
    parser.add_argument("--state", type=Path, required=True, help="the state directory")
    parser.add_argument("--redis", help='a URL, file:PATH of one, or "embedded" for a private server')
    parser.add_argument("--host", help="where HTTP listens")
    parser.add_argument("--port", type=int, help="0 takes any free one")
    parser.add_argument(
        "--spare", dest="standby", action="store_true", help="start an engine before there is a job for it"
    )
    parser.add_argument("--claimed", type=int, help="the descriptor of the lock on the state, which is held already")
    end_at_once()
    asyncio.run(_run(parser.parse_args()))


async def _run(arguments: argparse.Namespace) -> None:
    standby = None
    if arguments.standby:
        from ghcm.runtime.daemon.warm_standby import WarmStandby

        standby = WarmStandby()
        await standby.start(arguments.state / "logs")
    # Beside the engine that loads now, and so not above.
    from ghcm.errors import GhcmError
    from ghcm.runtime.daemon.daemon import run
    from ghcm.runtime.daemon.protocol import error_document
    from ghcm.runtime.logs import start_logging
    from ghcm.runtime.settings import load_settings

    try:
        http = {"host": arguments.host, "port": arguments.port}
        settings = load_settings({"state": arguments.state, "redis": arguments.redis, "http": http})
        start_logging(settings.log)
        await run(settings.served(), _announce, standby=standby, claimed=arguments.claimed)
    except GhcmError as error:
        _announce(error_document(error))
        sys.exit(str(error))
    finally:
        if standby is not None:
            await standby.stop()


if __name__ == "__main__":
    main()
