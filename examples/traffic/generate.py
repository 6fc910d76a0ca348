"""Writes plausible connections of a small company, with attacks planted in them: the same for the same seed.

python generate.py > conn.log                           half an hour as Zeek writes it, with every attack
python generate.py --attacks none --minutes 5           a quiet morning
python generate.py --format json --serve 127.0.0.1:4747 --rate 2000      to whoever connects, so many a second
"""

import argparse
import json
import math
import random
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

BEGIN = 1767603600  # 2026-01-05 09:00:00 UTC
PER_CLIENT = 0.4  # connections a second
FAILING = 0.01

OUTSIDE = [f"192.0.2.{n}" for n in range(10, 60)]
SHOP, NAMES, DATABASE, BUILD = "10.0.0.10", "10.0.0.11", "10.0.0.12", "10.0.0.13"
ATTACKER, CONTROL, VICTIM = "203.0.113.66", "198.51.100.99", "10.0.1.20"


@dataclass(frozen=True, slots=True)
class Conn:
    """A connection: when it begins (seconds since BEGIN) and how long it takes, bytes and packets of both sides."""

    begin: float
    duration: float
    src: str
    dst: str
    port: int
    proto: str = "tcp"
    service: str | None = None
    state: str = "SF"
    sent: int = 0
    received: int = 0

    @property
    def end(self) -> int:
        """In microseconds, as it is written."""
        return round(self.begin * 1e6) + round(self.duration * 1e6)


@dataclass(frozen=True, slots=True)
class Kind:
    """Ordinary traffic: its share, where it goes, and at the median how long it takes and how much it moves."""

    share: float
    hosts: list[str]
    port: int
    proto: str
    service: str
    seconds: float
    sent: int
    received: int


ORDINARY = (
    Kind(0.40, OUTSIDE, 443, "tcp", "ssl", 1.5, 1500, 20000),
    Kind(0.05, OUTSIDE, 80, "tcp", "http", 0.3, 600, 8000),
    Kind(0.30, [NAMES], 53, "udp", "dns", 0.02, 40, 120),
    Kind(0.15, [SHOP], 443, "tcp", "ssl", 0.4, 900, 12000),
    Kind(0.09, [DATABASE], 5432, "tcp", "postgresql", 0.2, 1200, 6000),
    Kind(0.01, [BUILD], 22, "tcp", "ssh", 60.0, 9000, 30000),
)


def ordinary(chance: random.Random, seconds: float, per_second: float) -> Iterator[Conn]:
    """What goes on every day: clients that come back to a few servers at random moments."""
    clients = [f"10.0.{1 + n // 200}.{20 + n % 200}" for n in range(max(12, math.ceil(per_second / PER_CLIENT)))]
    shares = [kind.share for kind in ORDINARY]
    begin = chance.expovariate(per_second)
    while begin < seconds:
        kind = chance.choices(ORDINARY, shares)[0]
        conn = Conn(begin, 0.0, chance.choice(clients), chance.choice(kind.hosts), kind.port, kind.proto, kind.service)
        yield failed(chance, conn) if chance.random() < FAILING else answered(chance, conn, kind)
        begin += chance.expovariate(per_second)


def answered(chance: random.Random, conn: Conn, kind: Kind, slower: float = 1.0) -> Conn:
    def about(median: float) -> float:
        return median * min(chance.lognormvariate(0, 0.8), 8)

    return Conn(
        conn.begin,
        slower * about(kind.seconds),
        conn.src,
        conn.dst,
        conn.port,
        conn.proto,
        conn.service,
        "SF",
        int(about(kind.sent)),
        int(about(kind.received)),
    )


def failed(chance: random.Random, conn: Conn) -> Conn:
    state = "S0" if conn.proto == "udp" else chance.choice(("S0", "REJ"))
    return Conn(conn.begin, chance.uniform(0, 0.05), conn.src, conn.dst, conn.port, conn.proto, None, state)


# ------------------------------------------------------------------------------------------------- what is planted
#
# Each takes the length of the whole and gives connections. They follow on each other: the attacker looks at a server,
# guesses a password there, looks around from there and takes over a client, which reports home and gives data away.

Plant = Callable[[random.Random, float], Iterator[Conn]]


def port_scan(chance: random.Random, seconds: float) -> Iterator[Conn]:
    """200 ports of the build server in 40 seconds."""
    ports = chance.sample(range(1, 10000), 200)
    for n, port in enumerate(ports):
        yield failed(chance, Conn(0.2 * seconds + 0.2 * n, 0.0, ATTACKER, BUILD, port))


def brute_force(chance: random.Random, seconds: float) -> Iterator[Conn]:
    """120 logins at the build server in two minutes."""
    for n in range(120):
        begin = 0.3 * seconds + n + chance.uniform(0, 0.5)
        yield Conn(begin, chance.uniform(0.5, 1.5), ATTACKER, BUILD, 22, "tcp", "ssh", "SF", 1800, 2300)


def address_scan(chance: random.Random, seconds: float) -> Iterator[Conn]:
    """From the build server, file sharing of 100 clients in a minute."""
    for n in range(100):
        yield failed(chance, Conn(0.45 * seconds + 0.6 * n, 0.0, BUILD, f"10.0.1.{20 + n}", 445))


def beaconing(chance: random.Random, seconds: float) -> Iterator[Conn]:
    """A client calls home every 30 seconds, give or take half a second."""
    begin = 0.5 * seconds
    while begin < seconds:
        yield Conn(begin + chance.uniform(-0.5, 0.5), 0.3, VICTIM, CONTROL, 8443, "tcp", "ssl", "SF", 420, 180)
        begin += 30


def unusual_volume(chance: random.Random, seconds: float) -> Iterator[Conn]:
    """The same client gives away 200 MB at once."""
    yield Conn(0.8 * seconds, chance.uniform(20, 30), VICTIM, CONTROL, 8443, "tcp", "ssl", "SF", 200_000_000, 40_000)


def flood(chance: random.Random, seconds: float) -> Iterator[Conn]:
    """3000 connections to the shop in 20 seconds, from 60 hosts."""
    for n in range(3000):
        src = f"203.0.113.{100 + chance.randrange(60)}"
        yield failed(chance, Conn(0.9 * seconds + n / 150, 0.0, src, SHOP, 443))


def slow_server(chance: random.Random, seconds: float) -> Iterator[Conn]:
    """No attack: the database takes twenty times as long for a minute."""
    (kind,) = (kind for kind in ORDINARY if kind.hosts == [DATABASE])
    for n in range(60):
        src = f"10.0.1.{20 + n % 12}"
        yield answered(chance, Conn(0.6 * seconds + n, 0.0, src, DATABASE, 5432, "tcp", "postgresql"), kind, 50)


PLANTED: dict[str, Plant] = {
    plant.__name__: plant
    for plant in (port_scan, brute_force, address_scan, beaconing, unusual_volume, flood, slow_server)
}


def connections(seed: int, minutes: float, per_second: float, attacks: Iterable[str]) -> list[Conn]:
    """All connections, in the order in which they end, which is that of a log."""
    seconds = 60 * minutes
    found = list(ordinary(random.Random(f"{seed} ordinary"), seconds, per_second))
    for attack in attacks:
        found += PLANTED[attack](random.Random(f"{seed} {attack}"), seconds)
    return sorted(found, key=lambda conn: (conn.end, conn.src, conn.dst, conn.port))


# ------------------------------------------------------------------------------------------------- how it is written

FIELDS = {
    "ts": "time",
    "uid": "string",
    "id.orig_h": "addr",
    "id.orig_p": "port",
    "id.resp_h": "addr",
    "id.resp_p": "port",
    "proto": "enum",
    "service": "string",
    "duration": "interval",
    "orig_bytes": "count",
    "resp_bytes": "count",
    "conn_state": "string",
    "orig_pkts": "count",
    "resp_pkts": "count",
}


def row(number: int, conn: Conn) -> dict[str, object]:
    at = BEGIN * 1_000_000 + round(conn.begin * 1e6)
    long = round(conn.duration * 1e6)
    return {
        "ts": f"{at // 1_000_000}.{at % 1_000_000:06}",
        "uid": f"C{number:07}",
        "id.orig_h": conn.src,
        "id.orig_p": 32768 + number * 7919 % 28000,
        "id.resp_h": conn.dst,
        "id.resp_p": conn.port,
        "proto": conn.proto,
        "service": conn.service,
        "duration": f"{long // 1_000_000}.{long % 1_000_000:06}",
        "orig_bytes": conn.sent,
        "resp_bytes": conn.received,
        "conn_state": conn.state,
        "orig_pkts": 1 + conn.sent // 1000,
        "resp_pkts": 0 if conn.state == "S0" else 1 + conn.received // 1000,
    }


def zeek(found: list[Conn]) -> Iterator[str]:
    yield "#separator \\x09\n#set_separator\t,\n#empty_field\t(empty)\n#unset_field\t-\n#path\tconn\n"
    yield "#fields\t" + "\t".join(FIELDS) + "\n#types\t" + "\t".join(FIELDS.values()) + "\n"
    for number, conn in enumerate(found):
        yield "\t".join("-" if cell is None else str(cell) for cell in row(number, conn).values()) + "\n"


def json_lines(found: list[Conn]) -> Iterator[str]:
    for number, conn in enumerate(found):
        cells = row(number, conn)
        times = {name: float(str(cells[name])) for name in ("ts", "duration")}
        yield json.dumps({**cells, **times}) + "\n"


def serve(lines: Iterable[str], server: socket.socket, rate: float | None) -> None:
    """Send the lines to the first who connects, `rate` a second or as fast as they are taken, and close."""
    peer, _ = server.accept()
    with peer:
        begun = time.monotonic()
        for number, line in enumerate(lines):
            if rate is not None and (early := begun + number / rate - time.monotonic()) > 0.01:
                time.sleep(early)  # keeps to the rate that was asked for
            peer.sendall(line.encode())


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--seed", type=int, default=7)
    read.add_argument("--minutes", type=float, default=30, help="of traffic; some rules need 25 to find their attack")
    read.add_argument("--per-second", type=float, default=10, help="ordinary connections in a second of traffic")
    read.add_argument("--attacks", default="all", help=f"all, none, or some of {', '.join(PLANTED)}")
    read.add_argument("--format", choices=("zeek", "json"), default="zeek")
    read.add_argument("--serve", metavar="HOST:PORT", help="send it to who connects, not to the standard output")
    read.add_argument("--rate", type=float, help="connections to send in a second; by default as fast as can be")
    asked = read.parse_args()
    attacks = {"all": list(PLANTED), "none": []}.get(asked.attacks) or asked.attacks.replace("none", "").split(",")
    found = connections(asked.seed, asked.minutes, asked.per_second, filter(None, attacks))
    lines = zeek(found) if asked.format == "zeek" else json_lines(found)
    if asked.serve:
        host, _, port = asked.serve.rpartition(":")
        with socket.create_server((host, int(port))) as server:
            print(f"waiting at {asked.serve}", file=sys.stderr, flush=True)
            serve(lines, server, asked.rate)
    else:
        sys.stdout.writelines(lines)


if __name__ == "__main__":
    main()
