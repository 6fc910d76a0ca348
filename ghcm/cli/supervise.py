"""`ghcm supervise`: be the daemon in this terminal."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.options import Json, State

Host = Annotated[str | None, typer.Option("--host", metavar="HOST", help="Where HTTP listens.")]
Port = Annotated[int | None, typer.Option("--port", "-p", min=0, max=65535, help="0 takes any free one.")]
Redis = Annotated[str | None, typer.Option("--redis", metavar="URL", help='A Redis, or "embedded" for a private one.')]


def command(host: Host = None, port: Port = None, redis: Redis = None, state: State = None, json: Json = False) -> None:
    """Start the daemon and stay with it until Ctrl-C."""
    from ghcm.runtime.daemon.daemon import run
    from ghcm.runtime.daemon.state import options
    from ghcm.runtime.settings import load_settings

    settings = load_settings({"state": state, "redis": redis, "http": {"host": host, "port": port}})
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")

    def ready(status: dict[str, object]) -> None:
        if json:
            terminal.json_line(status)
            return
        if settings.embedded:
            terminal.say("profile: embedded (logs and places are served by a private Redis)")
        terminal.say(f"state:   {status['state']}")
        terminal.say(f"http:    {status['url']}  ({status['url']}/docs)")
        terminal.say("next:    ghcm submit PROGRAM, in another terminal; Ctrl-C ends")

    run(options(settings), ready=ready)
