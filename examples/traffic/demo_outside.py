"""What the demo of the traffic monitor asks over HTTP, as any program outside could: calls, charts, the page."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import demo_screen
import httpx
import polars as pl
from demo_screen import clean, heading, say, screen, several, shown
from rich.filesize import decimal

from ghcm.errors import GhcmError

__all__ = ["call_from_outside", "draw", "page_of", "rows_of", "visit_page"]


HERE = "/programs/traffic"
WAIT = {"wait": "60"}
"""So many seconds the server may wait for the end of a call before it answers."""


def rows_of(http: httpx.Client, sink: str, **query: object) -> demo_screen.Rows:
    """Rows of a sink."""
    found: demo_screen.Rows = clean(fetch(http, "GET", f"{HERE}/sinks/{sink}/rows", params=query).json()["rows"])
    return found


def fetch(http: httpx.Client, method: str, path: str, **more: Any) -> httpx.Response:
    """What is answered. GhcmError with what the server says where it refuses."""
    try:
        answer = http.request(method, path, **more)
    except httpx.HTTPError as error:
        raise GhcmError(f"no answer to {method} {path}: {error}", code="GHCM-727") from error
    if answer.is_error:
        told = answer.json() if "json" in answer.headers.get("content-type", "") else {}
        message = str(told.get("message") or f"the Supervisor answered with HTTP {answer.status_code}")
        raise GhcmError(message, code=str(told.get("code") or "GHCM-727"), detail=str(told.get("detail") or ""))
    return answer


def call_from_outside(http: httpx.Client, found: pl.DataFrame, chains: demo_screen.Rows) -> None:
    """Whatever there is to be asked about what was found: hosts of connections, chains of alarms."""
    heading("4  calls over HTTP", "what any program outside can ask while the monitor runs")
    talkers = call(http, "talkers", {"n": 3})
    table = demo_screen.plain("host", "bytes", "connections")
    for row in talkers:
        table.add_row(row["host"], decimal(row["bytes"]), f"{row['flows']:,}")
    if talkers:
        screen.print(table)
    suspect = str(chains[0]["attacker"] if chains else found["src"][0] if found.height else "")
    host = suspect or (talkers[0]["host"] if talkers else "10.0.0.10")
    for row in call(http, "host_profile", {"host": host}):
        screen.print(
            f"    since {demo_screen.moment(row['first'] or '')}: {several(row['flows'], 'connection')} with about "
            f"{several(row['peers'], 'host')}, {decimal(row['bytes'])}, {several(row['alarms'], 'alarm')}"
        )
    if chains:
        for row in call(http, "scenarios_of", {"attacker": suspect, "n": 3}):
            screen.print(f"    score {row['score']}, {several(row['length'], 'step')}: {' → '.join(row['hosts'])}")


def call(http: httpx.Client, unit: str, parameters: dict[str, object]) -> demo_screen.Rows:
    """The rows that a responsive unit answers; shows the call and how long it took."""
    begun = time.monotonic()
    answer = fetch(http, "POST", f"{HERE}/units/{unit}/calls", params=WAIT, json=parameters).json()
    while answer["state"] in ("accepted", "waiting", "running"):
        answer = fetch(http, "GET", answer["links"]["self"], params=WAIT).json()
    if answer["state"] != "done":
        raise GhcmError(f'the call of "{unit}" is {answer["state"]}', detail=str(answer.get("error") or ""))
    rows: demo_screen.Rows = clean(fetch(http, "GET", answer["links"]["data"]).json()["rows"])
    took = 1000 * (time.monotonic() - begun)
    say(f"POST …/{unit}/calls {json.dumps(parameters)}: {several(len(rows), 'row')} ", f"in {took:.0f} ms")
    return rows


def draw(http: httpx.Client, folder: Path, found: pl.DataFrame) -> None:
    """A picture of each kind of thing that there is."""
    heading("5  charts on request", "as SVG or PNG, from the same server")
    traffic = {"kind": "line", "x": "start", "y": "bytes", "unit": "bytes", "title": "Traffic", "format": "png"}
    attacks = {"from": "src", "to": "dst", "step": "ts", "label": "signature", "severity": "severity"}
    if (folder / "out" / "throughput").exists():
        picture(http, folder / "traffic.png", "throughput", traffic)
    if found.height:
        picture(http, folder / "attacks.svg", "alerts", {"kind": "graph", "title": "Who attacks whom", **attacks})


def picture(http: httpx.Client, place: Path, sink: str, query: dict[str, str]) -> None:
    begun = time.monotonic()
    answer = fetch(http, "GET", f"{HERE}/sinks/{sink}/chart", params=query)
    place.write_bytes(answer.content)
    took = 1000 * (time.monotonic() - begun)
    say(f"{shown(place)}  ", f"{decimal(len(answer.content))}, {took:.0f} ms")


def visit_page(http: httpx.Client) -> None:
    heading("6  a page for the people on watch", "numbers, charts, alarms and scenarios, live")
    fetch(http, "GET", f"{HERE}/watch")
    say(f"{page_of(http)}\n", "    while it runs: make demo ARGS=--keep goes on serving")


def page_of(http: httpx.Client) -> str:
    """The address of the page."""
    return str(http.base_url).rstrip("/") + f"{HERE}/watch"
