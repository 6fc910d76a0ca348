"""The Spark driver as a process of its own, with a job that it serves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from ghcm import driver as compiler
from ghcm.runtime.bundle import Bundle
from ghcm.runtime.daemon.state import StateDirectory
from ghcm.runtime.jobs.store import JobState, Store, open_store
from ghcm.runtime.pubsub.cache import START
from ghcm.runtime.pubsub.connections import Connections, topic_of
from ghcm.runtime.pubsub.envelope import Feedback, Instruction, new_id
from ghcm.runtime.settings import REDIS
from ghcm.runtime.sinks.sink import read

PROGRAM = """program sales

record Sale { shop: string, amount: int }
record Total { shop: string, total: int }

sink totals = parquet("out/totals", mode = replace)
sink many = files("out/many", format = json, mode = append)
sink latest = redis("sales:total", key = t => t.key, mode = upsert)

responsive batch add_up(least: int = 0) engine = spark {
  sums = files("sales.json", format = json).as(Sale)
    .filter(s => s.amount >= least)
    .map_to_pair(s => (s.shop, s.amount))
    .reduce_by_key((a, b) => a + b)
  sums.to(latest)
  sums.map(p => Total { shop: p.key, total: p.value }).to(totals)
}

responsive batch shops(name: string) engine = spark {
  files("sales.json", format = json).as(Sale).filter(s => s.shop == name).reply()
}

responsive batch slow(rows: int) engine = spark {
  generate(rows = 3000000).map_to_pair(g => (to_string(g.number), upper(to_string(g.number * rows))))
    .group_by_key().count().reply()
}

responsive batch write_many() engine = spark {
  generate(rows = 100000).map(g => Total { shop: to_string(g.number), total: g.number }).to(many)
}

responsive batch divide(by: int) engine = spark {
  files("sales.json", format = json).as(Sale).map(s => s.amount // by).reply()
}
"""
SOONER = """\
[units."sales/slow"]
attempts = 1
[units."sales/shops"]
initial_interval = "1s"
"""
SALES = [("a", 3), ("b", 5), ("a", 4), ("c", 1)]


class World:
    """A state directory with one submitted job, and the driver process that serves it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        source = folder / "sales.istream"
        source.write_text(PROGRAM)
        lines = [json.dumps({"shop": shop, "amount": amount}) for shop, amount in SALES]
        (folder / "sales.json").write_text("\n".join([*lines, "no record"]) + "\n")
        self.state = StateDirectory(folder / "state")
        bundle = self.state.bundle("sales-1")
        bundle.parent.mkdir(parents=True)
        compiler.build(source, bundle)
        self.state.base("sales-1").write_text(str(folder))
        self.store: Store = open_store(self.state.store)
        self.store.jobs.submit("sales-1", "sales", str(bundle))
        self.store.jobs.move("sales-1", JobState.RUNNING)
        self.program = Bundle.open(bundle).program
        self.connections = Connections(folder, url)
        self.process: subprocess.Popen[str] | None = None
        self.events: list[dict[str, Any]] = []
        self.heard = threading.Condition()

    def start(self) -> None:
        command = [sys.executable, "-u", "-m", "ghcm.runtime.spark", "--state", str(self.state.path)]
        settings = self.folder / "ghcm.toml"
        settings.write_text('[retry]\ninitial_interval = "1h"\nmaximum_interval = "1h"\n' + SOONER)
        variables = {"GHCM_SPARK_MASTER": "local[2]", "GHCM_CONFIG": str(settings), REDIS: self.url}
        environment = {**os.environ, **variables}
        with (self.folder / "driver.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment
            )
        self.events.clear()
        self.listener = threading.Thread(target=self._listen, args=(self.process,), daemon=True)
        self.listener.start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            with self.heard:
                self.events.append(json.loads(line))
                self.heard.notify_all()

    def ask(self, op: str) -> None:
        assert self.process is not None and self.process.stdin is not None
        self.process.stdin.write(json.dumps({"op": op}) + "\n")
        self.process.stdin.flush()

    def await_event(self, event: str, **parts: object) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            fits = (each for each in self.events if {"event": event, **parts}.items() <= each.items())
            return next(fits, None)

        with self.heard:
            assert self.heard.wait_for(found, 240), (event, (self.folder / "driver.log").read_text()[-3000:])
            result = found()
            assert result is not None
            return result

    def send(self, unit: str, id: str | None = None, deadline: int | None = None, **parameters: object) -> str:
        call = id or new_id()
        reply = f"ghcm:feedback:{call}"
        instruction = Instruction(call, "sales", unit, parameters=parameters, reply=reply, deadline=deadline)
        self.store.calls.accept(instruction)
        cache = self.connections.cache(topic_of(self.program, self.program.unit(unit)), "sales", "test")
        cache.send(instruction)
        cache.close()
        return call

    def answer(self, call: str, seconds: float = 240) -> Feedback:
        """The final feedback of a call, as its caller gets it."""
        return self.feedback(call, seconds)[-1]

    def feedback(self, call: str, seconds: float = 240) -> list[Feedback]:
        address, after, seen = f"ghcm:feedback:{call}", START, list[Feedback]()
        cache = self.connections.cache(address, "sales", "test")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for placed in cache.feedback(address, after, timeout=1):
                after = placed.position
                seen.append(placed.feedback)
                if placed.feedback.final:
                    cache.close()
                    return seen
        raise AssertionError(f"no answer to {call}: {seen}\n{(self.folder / 'driver.log').read_text()[-3000:]}")

    def call(self, unit: str, **parameters: object) -> Feedback:
        return self.answer(self.send(unit, None, None, **parameters))

    def rows(self, sink: str) -> list[tuple[object, ...]]:
        return sorted(read(self.program.sink(sink), self.connections))

    def family(self) -> list[psutil.Process]:
        assert self.process is not None
        parent = psutil.Process(self.process.pid)
        return [parent, *parent.children(recursive=True)]

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self, seconds: float = 30) -> int:
        """Wait for the end of the process; its exit code."""
        assert self.process is not None and self.process.stdin is not None and self.process.stdout is not None
        code = self.process.wait(seconds)
        self.listener.join(10)
        self.process.stdin.close()
        self.process.stdout.close()
        return code

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.ended()
        self.connections.close()
        self.store.close()
