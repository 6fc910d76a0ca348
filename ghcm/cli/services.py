"""`ghcm services`: a Kafka and a Redis on this machine, for development and tests."""

from pathlib import Path
from typing import Annotated

import typer

from ghcm.cli import terminal
from ghcm.cli.terminal import Json, State

OtherPorts = Annotated[bool, typer.Option("--other-ports", help="Take free ports, not those of the last time.")]


def up(other_ports: OtherPorts = False, state: State = None, json: Json = False) -> None:
    """Start what does not run, and wait until both answer."""
    from ghcm.runtime.pubsub.services import JAR_COUNT, JARS, start_services

    if new := not JARS.exists():
        terminal.note(f"fetching Kafka into {JARS}, once for this user (43 MB)")
    with terminal.steps(2 + JAR_COUNT * new) as step:
        start_services(_folder(state), step, other_ports=other_ports)
    status(state, json)
    terminal.note("next: ghcm run --profile services PROGRAM")


def down(state: State = None, json: Json = False) -> None:
    """Stop both; their data and ports are kept."""
    from ghcm.runtime.pubsub.services import stop_services

    with terminal.steps(2) as step:
        stop_services(_folder(state), step)
    status(state, json)


def status(state: State = None, json: Json = False) -> None:
    """Show where they are and how they do."""
    from ghcm.runtime.pubsub.services import services

    found = services(_folder(state))
    if json:
        terminal.json_line({"services": found})
        return
    rows: list[tuple[str, ...]] = []
    for each in found:
        of = "stopped" if each["pid"] is None else f"process {each['pid']}"
        memory, size = f"{each['memory'] >> 20} MB", f"{each['size'] / 2**20:.1f} MB"
        rows.append((each["name"], each["address"] or "-", of, f"{each['seconds']} s", memory, size, each["log"]))
    terminal.table(("service", "address", "state", "for", "memory", "data", "log"), rows, "no services")


def _folder(state: Path | None) -> Path:
    from ghcm.runtime.settings import load_settings

    return load_settings({"state": state}).state / "services"
