"""Runs a small program over a database in a process that kills itself: `python sql_child.py BASE URL ROWS STEPS`; says
"done" if it comes to its end. It adds numbers to one table, and keeps in another the latest one of each remainder. A
step is the beginning or the end of a statement, or a commit; 0 of them: it lives.
"""

import os
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any

from ghcm.expr import Get, Lambda, Var
from ghcm.runtime.contract import Context, Operator, Outbox
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.native.code import TaskCode
from ghcm.runtime.pubsub.connections import Connections
from ghcm.runtime.slot.engine import Engine
from ghcm.spg.connectors import Generate, Mode, Sql
from ghcm.spg.graph import Program, Sink, Task, Unit
from ghcm.spg.ops import Filter, Source, To
from ghcm.tables.database import sqlalchemy
from ghcm.types import String
from tests.unit.runtime.small_operators import _X, COUNTED, HERE, NUMBERED, Compiled, Rows, task, unit

REMAINDERS = 7
RATE = 2000
"""Numbers per second, so that there are many snapshots."""


class Remainders(Rows):
    """Each number by its remainder."""

    def work(self, batch: Batch, outbox: Outbox) -> Batch:
        numbers = [number for number, *_ in batch.rows() if isinstance(number, int)]
        return batch.with_rows(self.schema, [(str(number % REMAINDERS), number) for number in numbers])


def program(rows: int) -> Program:
    pair = Var("pair", COUNTED)
    key = Lambda((pair,), Get(pair, "key", String()))
    return Program(
        "small",
        (),
        (
            Sink("latest", Sql("db", "latest"), Mode.UPSERT, key, COUNTED, HERE),
            Sink("numbers", Sql("db", "numbers"), Mode.APPEND, None, NUMBERED, HERE),
        ),
        (
            unit(
                "main",
                task("numbers", Source(Generate(rows, float(RATE), 0, 1)), NUMBERED),
                task("remainders", Filter(_X), COUNTED, "numbers"),
                task("to_latest", To("latest"), COUNTED, "remainders"),
                task("to_numbers", To("numbers"), NUMBERED, "numbers"),
            ),
        ),
    )


def build(task: Task, unit: Unit, code: TaskCode | None, context: Context) -> Operator:
    return Remainders(task.schema)


def die_after(steps: int, engine: Any) -> None:
    """Have the process killed at that step of what it asks the database."""
    done = count(1)

    def step(*_: object) -> None:
        if next(done) == steps:
            os.kill(os.getpid(), signal.SIGKILL)

    for moment in ("before_cursor_execute", "after_cursor_execute", "commit"):
        sqlalchemy().event.listen(engine, moment, step)


def main(base: Path, url: str, rows: int, steps: int) -> None:
    connections = Connections(base, sql={"db": url})
    die_after(steps, connections.database("db").engine)
    compiled = Compiled(program(rows))
    Engine(compiled, connections=connections, state=base / "state", commit_s=0.002, build=build).run()
    connections.close()
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
