"""Keyed state: what a snapshot writes when one key in a hundred has changed, how long a key is looked up and a snapshot
read back, and how much memory a key takes.

The state is that of the operator that engines run, with the totals of so many keys as a table; what it saves goes
through the store of snapshots to disk. Half of the keys are numbers of 12 digits, half are texts of hosts.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import polars as pl
import psutil

from bench.table import Row
from ghcm.language.parser import parse
from ghcm.lowering import lower
from ghcm.runtime.contract import Context, Table
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.dead_letter import DeadLetter
from ghcm.runtime.engine.host import TaskState
from ghcm.runtime.operators import build
from ghcm.runtime.operators.groups import GroupOperator
from ghcm.runtime.snapshot.store import Snapshot, SnapshotStore
from ghcm.source import Source
from ghcm.types import Struct
from tests.unit.runtime.operators.harness import module_of

__all__ = ["measure"]

KEYS, MANY = 1_000_000, 10_000_000
STEP = 65_536

PROGRAM = """
program state
record Flow { src: string, bytes: int }
sink totals = redis("totals", key = t => t.key, mode = upsert)
stream main {
  hosts = files("flows", format = json).as(Flow).map_to_pair(f => (f.src, f.bytes)).reduce_by_key((a, b) => a + b)
  hosts.to(totals)
}
"""


class _Nobody:
    """An outbox that nothing is put into."""

    def dead(self, letter: DeadLetter) -> None:
        raise AssertionError(letter)

    def publish(self, publication: object) -> None:
        raise AssertionError(publication)


def operator() -> tuple[GroupOperator, Struct]:
    """A new operator of the table."""
    program = lower(parse(Source("state.istream", PROGRAM)))
    unit = program.unit("main")
    made = build(unit.task("hosts"), unit, module_of(program, unit).TASKS["hosts"], Context())
    assert isinstance(made, GroupOperator)
    return made, unit.task(unit.task("hosts").inputs[0].producer).schema


def batches(first: int, last: int, every: int = 1) -> Iterator[pl.DataFrame]:
    """Pairs of the keys from first to last, by steps."""
    for start in range(first, last, STEP * every):
        numbers = pl.int_range(start, min(last, start + STEP * every), every, eager=True)
        yield pl.DataFrame({"key": "10.0." + numbers.cast(pl.String), "value": numbers % 1500})


def measure(keys: int = KEYS, many: int = MANY) -> list[Row]:
    """All figures."""
    rows: list[Row] = []

    def add(subject: str, figure: str, beside: str, how: str) -> None:
        rows.append(Row("state", subject, figure, beside, how))

    with tempfile.TemporaryDirectory() as name:
        folder, store = Path(name), SnapshotStore(Path(name))
        table, schema = operator()
        feed(table, schema, 0, keys)
        full, seconds = write(store, folder, 1, table)
        add("a full snapshot", f"{full / 1e6:.1f} MB", "", f"{keys:,} keys, {seconds:.2f} s")
        feed(table, schema, 0, keys, every=100)
        changed, seconds = write(store, folder, 2, table)
        add(
            "1 % of the keys changed",
            f"{changed / 1e6:.2f} MB",
            f"{changed / full:.1%} of a full one",
            f"{seconds:.2f} s",
        )
        alone = reads(table, schema, keys, load=False)
        again, _ = operator()
        begun = time.perf_counter()
        found = SnapshotStore(folder).latest()
        assert found is not None
        for state in found.tasks["hosts"].groups:
            again.restore(state)
        add("restore", f"{time.perf_counter() - begun:.2f} s", "", f"{keys:,} keys")
        assert pairs(again) == pairs(table), "what is restored is what was saved"
        busy = reads(table, schema, keys, load=True)
        for subject, (middle, late) in (("a keyed read", alone), ("a keyed read behind each step of a load", busy)):
            add(subject, f"{middle:.2f} ms", f"{late:.2f} ms at most", "100 keys")
    del table, again, found
    gc.collect()
    before = psutil.Process().memory_info().rss
    table, schema = operator()
    feed(table, schema, 0, many)
    table.flush(_Nobody())
    gc.collect()
    held = psutil.Process().memory_info().rss - before
    add("memory of a key", f"{held / many:.0f} bytes", "", f"{many:,} keys, texts of 12 characters")
    return rows


def feed(table: GroupOperator, schema: Struct, first: int, last: int, every: int = 1) -> None:
    """Give the table the pairs of these keys."""
    for frame in batches(first, last, every):
        for _ in table.process(0, Batch.from_frame(schema, frame), _Nobody()):
            pass
        while (work := table.upkeep()) is not None:
            work()()


def write(store: SnapshotStore, folder: Path, number: int, table: GroupOperator) -> tuple[int, float]:
    """Take a snapshot as the engine does; the bytes of the new files, and the seconds."""
    for _ in table.flush(_Nobody()):
        pass
    before = {path for path in folder.rglob("*") if path.is_file()}
    begun = time.perf_counter()
    store.write(Snapshot(number, {"hosts": TaskState((table.save(),))}))
    seconds = time.perf_counter() - begun
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path not in before), seconds


def reads(table: GroupOperator, schema: Struct, keys: int, *, load: bool) -> tuple[float, float]:
    """Median and maximum (ms) of looking up a key, each time behind a step of a load or not."""
    took: list[float] = []
    for number in range(100):
        if load:
            feed(table, schema, number * 1000, number * 1000 + 1000)
        key = f"10.0.{number * 7919 % keys}"
        begun = time.perf_counter()
        assert len(table.copy(key)) == 1
        took.append((time.perf_counter() - begun) * 1000)
    took.sort()
    return median(took), took[-1]


def pairs(table: Table) -> int:
    """A checksum of what a table holds."""
    return hash(frozenset(table.copy()))
