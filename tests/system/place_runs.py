"""Programs whose files are in places, and what these hold then."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deltalake

from ghcm import stores
from ghcm.places import Place, Remote
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.sinks.sink import read
from ghcm.runtime.slot.engine import Engine
from ghcm.types import Field, Int, String, Struct
from tests.conformance.live_runs import Compiled, checked
from tests.conftest import ROOT

FLOW = Struct((Field("id", Int()), Field("host", String())), "Flow")

PROGRAM = """
program places
record Flow { id: int, host: string }
sink flows  = parquet("PLACE/flows", mode = append)
sink plain  = files("PLACE/plain", format = json, mode = append)
sink latest = parquet("PLACE/latest", mode = upsert, key = r => r.host)

stream copy {
  read = files("PLACE/in/*.json").as(Flow)
  read.to(flows)
  read.filter(f => f.id % 10 == 0).to(plain)
  read.filter(f => f.id % 7 == 0).to(latest)
}
"""


def put(place: Place, data: bytes) -> None:
    if isinstance(place, Path):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    else:
        place.write([data])


def lines(numbers: range) -> bytes:
    return b"".join(b'{"id": %d, "host": "h%d"}\n' % (number, number % 13) for number in numbers)


def rows_in(program: str, sink: str, folder: Path) -> list[Any]:
    return sorted(read(checked(program).sink(sink), Connections(folder)))


def given(folder: Path, program: str, **options: Any) -> None:
    compiled = Compiled(checked(program))
    Engine(compiled, connections=Connections(folder), state=folder / "state", job="job", **options).run()


def killed_and_gone_on(program: Path, place: Remote, folder: Path, chance: random.Random, kills: int) -> None:
    """Run the program in a process that is killed so often at a random moment, and to its end then; each time as if it
    were on another machine, with its snapshots in the place.
    """
    for life in range(kills + 1):
        words = map(str, (program, folder / str(life), place / "snapshots"))
        command = [sys.executable, "-m", "tests.system.places_child", *words]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, errors = process.communicate(timeout=chance.uniform(1.0, 3.0) if life < kills else 120)
        except subprocess.TimeoutExpired:
            assert life < kills, "it does not come to its end"
            process.kill()
            process.communicate()
        else:
            assert (process.returncode, out) == (0, "done\n"), errors
            assert life > 0, "it was not killed"
            return


def opened_rows(table: Remote) -> Iterator[Any]:
    """The rows as a reader that is not ours finds them."""
    found = deltalake.DeltaTable(**stores.delta_client(table.url)).to_pyarrow_table()
    return (tuple(row.values()) for row in found.to_pylist())
