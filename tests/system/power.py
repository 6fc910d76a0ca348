"""A machine that loses its power: a daemon whose files come back as they were when they were last synced.

    python -m tests.system.power --losses 200

All processes run over a layer in C that notes at each sync what the disk has of a file (`power_layer.c`). At random
moments all of them are killed and what was not synced is gone; then the daemon starts again on what is left. Meanwhile
a stream writes, and callers call. At the end every record is in the sinks once, and every call that was acknowledged
has the answer that was told, or one.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ghcm.tables.plain import PlainTable
from tests.system.running import running, until
from tests.system.storm.calls import Callers
from tests.system.storm.sinks import once

PROGRAM = """\
program power

record Number { number: int }

sink text   = files("out/text", format = csv, mode = append)
sink table  = parquet("out/table", mode = append)
sink latest = redis("power:latest", key = p => p.key, mode = upsert)

stream feed {
  numbers = generate(rows = ROWS, rate = RATE)
  counts = numbers.map_to_pair(n => (n.number % 10, 1)).reduce_by_key((a, b) => a + b)
  counts.to(latest)
  kept = numbers.map(n => Number { number: n.number })
  kept.to(table)
  kept.to(text)
}

responsive stream count_of(digit: int) { feed.counts.read(digit).reply() }
"""
RATE = 200


@dataclass(frozen=True, slots=True)
class Disk:
    """What is synced of the files in `root`, which is a folder of the machine; `folder` belongs to the layer."""

    root: Path
    folder: Path
    layer: Path

    @property
    def environment(self) -> dict[str, str]:
        """For the processes of the machine."""
        return {"LD_PRELOAD": str(self.layer), "POWER_ROOT": str(self.root), "POWER_DISK": str(self.folder)}

    def begin(self) -> None:
        """Begin with everything that is there."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for part in ("files", "names"):
            (self.folder / part).mkdir(parents=True)
        everything = "import os, sys\nfor path in sys.argv[1:]: os.fsync(os.open(path, os.O_RDONLY))"
        paths = [path for path in (self.root, *self.root.rglob("*")) if path.is_dir() or path.is_file()]
        line = [sys.executable, "-c", everything, *map(str, paths)]
        subprocess.run(line, check=True, env={**os.environ, **self.environment})

    def lose(self) -> None:
        """Have the root hold what was synced, and nothing else. Nobody uses it meanwhile."""
        key = self._key()
        self.root.rename(self.root.with_suffix(".lost"))
        self._restore(key, self.root)
        shutil.rmtree(self.root.with_suffix(".lost"))
        self.begin()

    def _key(self) -> str:
        names = (self.folder / "names").iterdir()
        inode = f"d{self.root.stat().st_ino}-"
        return next(path.name for path in names if path.name.startswith(inode))

    def _restore(self, key: str, to: Path) -> None:
        to.mkdir()
        for link in self._names(key):
            found, name = os.readlink(link), to / link.name
            if found.startswith("d"):
                self._restore(found, name)
            elif (file := self.folder / "files" / found).exists():
                shutil.copyfile(file, name)
            else:
                name.touch()

    def _names(self, key: str) -> Iterator[Path]:
        folder = self.folder / "names" / key
        return folder.iterdir() if folder.exists() else iter(())


def compiled(folder: Path) -> Path:
    """The layer, made in this folder."""
    layer = folder / "power_layer.so"
    source = Path(__file__).with_suffix("").with_name("power_layer.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", layer, source, "-ldl"], check=True)
    return layer


def machine(folder: Path, losses: int, seed: int) -> Callers:
    """A machine in this folder that loses its power so often; AssertionError for a promise that was not kept."""
    chance, rows = random.Random(seed), RATE * (5 + 2 * losses)
    root = folder / "machine"
    root.mkdir()
    (root / "power.istream").write_text(PROGRAM.replace("ROWS", str(rows)).replace("RATE", str(RATE)))
    disk = Disk(root, folder / "disk", compiled(folder))
    disk.begin()
    with running(root, GHCM_RESTARTS_LIMIT="100000", **disk.environment) as daemon:
        found = Callers(daemon, chance, spark=False, program="power")
        job = daemon.submit("power.istream")
        callers = [threading.Thread(target=found.call) for _ in range(2)]
        for caller in callers:
            caller.start()
        try:
            for _ in range(losses):
                time.sleep(chance.uniform(0.0, 3.0))  # the moments are what is tested
                daemon.kill()
                disk.lose()
                daemon.start()
        finally:
            found.over.set()
            for caller in callers:
                caller.join()
        found.settle()
        until(lambda: daemon.job(job)["inputs_done"], "the stream to end" + daemon.log(job))
        assert not found.wrong, found.wrong[:5]
        assert sorted(numbers_in_text(root)) == list(range(rows))
        assert sorted(once(pl.read_delta(str(root / "out/table"))["number"].to_list())) == list(range(rows))
        answer = daemon.post("/programs/power/units/count_of/calls?wait=30", {"digit": 3})
        assert answer.json.get("data") == [{"key": 3, "value": rows // 10}], answer.text
        latest = daemon.get("/programs/power/sinks/latest/rows?format=json").json
        assert {row["key"]: row["value"] for row in latest["rows"]} == dict.fromkeys(range(10), rows // 10)
    return found


def numbers_in_text(folder: Path) -> list[int]:
    """The numbers in the committed files of the CSV sink, each once."""
    table = folder / "out/text"
    files = [table / file.name for file in PlainTable(table).live()]
    return once([number for file in files for number in pl.read_csv(file)["number"].to_list()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--losses", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=20, help="losses of one machine")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    for seed in range(options.seed, options.seed + -(-options.losses // options.at_once)):
        with tempfile.TemporaryDirectory(prefix="ghcm-power-") as folder:
            begun = time.monotonic()
            found = machine(Path(folder), options.at_once, seed)
            calls = f"{len(found.accepted)} calls acknowledged, {len(found.answers)} answers told"
            print(f"seed {seed}: {options.at_once} losses, {calls}, in {time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
