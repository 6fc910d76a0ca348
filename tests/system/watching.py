"""The traffic monitor of the examples under a daemon, fed over its socket: half an hour of an office with an attack."""

import json
import random
import shutil
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "traffic"
HOSTILE = '<img src=x onerror="document.title=1">'
"""What an attacker may well call a host, a protocol or a signature."""

OUTSIDER, BUILD, DATABASE, SHOP = "198.51.100.7", "10.0.0.13", "10.0.0.12", "10.0.0.10"


@dataclass
class Feed:
    """A server that sends connections as lines of JSON to whoever connects first."""

    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    peer: socket.socket | None = None
    connected: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def send(self, flows: Iterable[dict[str, object]]) -> None:
        """Send connections; waits until somebody listens."""
        assert self.connected.wait(120) and self.peer is not None
        self.peer.sendall("".join(json.dumps(flow) + "\n" for flow in flows).encode())

    def close(self) -> None:
        for each in (self.peer, self.listener):
            if each is not None:
                each.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed before anybody came
            self.peer, _ = self.listener.accept()
            self.connected.set()


@contextmanager
def feed() -> Iterator[Feed]:
    opened = Feed()
    try:
        yield opened
    finally:
        opened.close()


def lay_out(folder: Path, port: int) -> Path:
    """A copy of the example that reads from that port; its program."""
    for name in ("in", "servers.csv", "traffic.istream", "traffic.watch.toml"):
        place = EXAMPLE / name
        (shutil.copytree if place.is_dir() else shutil.copy)(place, folder / name)
    program = folder / "traffic.istream"
    text = program.read_text(encoding="utf-8")
    assert "127.0.0.1:4747" in text
    program.write_text(text.replace("127.0.0.1:4747", f"127.0.0.1:{port}"), encoding="utf-8")
    alert = {"signature": f"ET SCAN {HOSTILE}", "category": "Attempted recon", "severity": 3}
    when = begin() + timedelta(minutes=18)
    eve = {"timestamp": when.isoformat(), "event_type": "alert", "src_ip": OUTSIDER, "dest_ip": SHOP, "alert": alert}
    (folder / "in/suricata/eve.json").write_text(json.dumps(eve) + "\n", encoding="utf-8")
    return program


def begin() -> datetime:
    """Half an hour ago, at a full five minutes, so that windows of all lengths begin there."""
    now = datetime.now(UTC) - timedelta(minutes=30)
    return now.replace(minute=now.minute - now.minute % 5, second=0, microsecond=0)


def flow(
    at: datetime,
    src: str,
    dst: str,
    port: int,
    *,
    state: str = "SF",
    sent: int = 800,
    got: int = 4000,
    proto: str = "tcp",
) -> dict[str, object]:
    """A connection as Zeek writes it."""
    return {
        "ts": at.isoformat(),
        "id.orig_h": src,
        "id.resp_h": dst,
        "id.resp_p": port,
        "proto": proto,
        "duration": 0.2,
        "orig_bytes": sent,
        "resp_bytes": got,
        "conn_state": state,
        "orig_pkts": 1 + sent // 1000,
        "resp_pkts": 1 + got // 1000,
    }


def office(start: datetime, minutes: int) -> list[dict[str, object]]:
    """What an office does, with an outsider who comes in by the build server and goes on to the database."""
    dice = random.Random(7)
    flows: list[tuple[datetime, dict[str, object]]] = []

    def add(at: datetime, *rest: object, **more: object) -> None:
        flows.append((at, flow(at, *rest, **more)))  # type: ignore[arg-type]

    for second in range(0, minutes * 60, 2):
        at = start + timedelta(seconds=second, milliseconds=dice.randrange(1000))
        host = f"10.0.1.{10 + int(dice.paretovariate(1.1)) % 14}"
        wave = 1.6 + (second % 600 < 240) * 1.4
        for dst, port, proto in ((SHOP, 443, "tcp"), ("10.0.0.11", 53, "udp"), ("203.0.113.8", 443, "udp")):
            got = int(dice.paretovariate(1.4) * 9000 * wave) if port == 443 else 240
            add(at, host, dst, port, proto=proto, got=min(got, 900_000))
        if second % 14 == 0:
            add(at, host, "10.0.0.1", 0, proto="icmp", got=84, sent=84)
            add(at, SHOP, DATABASE, 5432, sent=20_000, got=150_000)
    for number in range(24):
        add(start + timedelta(minutes=16, seconds=number * 4), OUTSIDER, BUILD, 20 + number, state="S0", sent=0, got=0)
        add(start + timedelta(minutes=21, seconds=number * 2), OUTSIDER, BUILD, 22, sent=1500, got=2000)
        add(start + timedelta(minutes=24, seconds=number * 2), BUILD, f"10.0.1.{10 + number}", 445, state="REJ", sent=0)
        add(start + timedelta(minutes=26, seconds=number * 2), BUILD, DATABASE, 5432, sent=900, got=3000)
    return [each for _, each in sorted(flows, key=lambda timed: timed[0])]


def flood(start: datetime) -> list[dict[str, object]]:
    """Six hundred connections to the shop within ten seconds that it does not answer, and what ends their window."""
    at = [start + timedelta(milliseconds=15 * number) for number in range(600)]
    asked = [
        flow(each, f"203.0.113.{number % 200}", SHOP, 443, state="S0", sent=0, got=0) for number, each in enumerate(at)
    ]
    return [*asked, *quiet(start + timedelta(seconds=10))]


def quiet(start: datetime) -> list[dict[str, object]]:
    """A minute with little in it, which lets the windows before it end."""
    return [flow(start + timedelta(seconds=second), "10.0.1.10", SHOP, 443) for second in range(60)]
