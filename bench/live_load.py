"""A network that is always busy: sends Zeek's connections as JSON lines to whoever connects, so many a second, for as
long as they are taken. A process of its own, beside those that are measured: `python -m bench.live_load RATE SIZE`.

Each connection ends at the moment when it is sent. What is behind its schedule is sent as soon as it is taken.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

from bench import flows

__all__: list[str] = []

_COPIES = 4
_TICK_S = 0.02


def _lines(originals: Path, size: int) -> list[tuple[float, bytes]]:
    """How long each connection lasts, and its line behind the moment of its beginning."""
    made = flows.replicated(originals, _COPIES)
    found: list[tuple[float, bytes]] = []
    for record in flows.records(made, size):
        del record["ts"]
        lasts = record.get("duration", 0.0)
        assert isinstance(lasts, float)
        found.append((lasts, b", " + json.dumps(record).encode()[1:] + b"\n"))
    return found


def _send(peer: socket.socket, lines: list[tuple[float, bytes]], rate: float, begin: float) -> None:
    sent, count = 0, len(lines)
    while True:
        now, moment = time.monotonic(), time.time()
        due = int((now - begin) * rate)
        pieces: list[bytes] = []
        for number in range(sent, due):
            lasts, line = lines[number % count]
            pieces.append(b'{"ts": %.6f' % (moment - lasts) + line)
        sent = max(sent, due)
        peer.sendall(b"".join(pieces))
        time.sleep(max(0.0, now + _TICK_S - time.monotonic()))


def _main() -> None:
    rate, size = float(sys.argv[1]), int(sys.argv[2])
    lines = _lines(Path(sys.argv[3]) if len(sys.argv) > 3 else flows.ORIGINALS, size)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        print(json.dumps({"port": port, "bytes": sum(len(line) + 24 for _, line in lines) / len(lines)}), flush=True)
        peer, _ = server.accept()
    begin = time.monotonic()
    print(json.dumps({"begin": begin}), flush=True)
    with peer, suppress(OSError):  # whoever read has gone
        _send(peer, lines, rate, begin)


if __name__ == "__main__":
    _main()
