"""Programs whose files are in places, and what these hold then."""

from __future__ import annotations

import random
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
from tests.system.killed import killed

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
    """Run the program in a process that is killed so often at a random moment of its work, and to its end then; each
    time as if it were on another machine, with its snapshots in the place.
    """
    for life in range(kills + 1):
        after_s = chance.uniform(0.05, 0.3) if life < kills else 0
        words = program, folder / str(life), place / "snapshots"
        if not killed("tests.system.places_child", *words, after_s=after_s):
            assert life > 0, "it was not killed"
            return


def opened_rows(table: Remote) -> Iterator[Any]:
    """The rows as a reader that is not ours finds them."""
    found = deltalake.DeltaTable(**stores.delta_client(table.url)).to_pyarrow_table()
    return (tuple(row.values()) for row in found.to_pylist())
