"""Runs a small program over a database in a process that tests may kill: `python sql_child.py BASE URL`; prints "done"
at the end. It keeps how often each word has come in one table, and adds all words to another.
"""

import sys
from pathlib import Path

from ghcm.expr import Get, Lambda, Var
from ghcm.runtime.pubsub.connections import Connections
from ghcm.spg.connectors import Files, Format, Mode, Sql
from ghcm.spg.graph import Program, Sink
from ghcm.spg.ops import Distinct, Filter, Source, To
from ghcm.types import Shape, String
from tests.unit.runtime.small_operators import _X, COUNTED, HERE, LINE, WORD, engine, task, unit

_PAIR = Var("pair", COUNTED)
COUNTS = Sink("counts", Sql("db", "counts"), Mode.UPSERT, Lambda((_PAIR,), Get(_PAIR, "key", String())), COUNTED, HERE)
WORDS = Sink("words", Sql("db", "words"), Mode.APPEND, None, WORD, HERE)
PROGRAM = Program(
    "small",
    (),
    (COUNTS, WORDS),
    (
        unit(
            "main",
            task("lines", Source(Files("*.txt", Format("text"))), LINE),
            task("words", Filter(_X), WORD, "lines"),
            task("counted", Distinct(), COUNTED, "words", shape=Shape.TABLE),
            task("to_counts", To("counts"), COUNTED, "counted"),
            task("to_words", To("words"), WORD, "words"),
        ),
    ),
)


def main(base: Path, url: str) -> None:
    connections = Connections(base, sql={"db": url})
    engine(PROGRAM, base, connections=connections, commit_s=0.002, piece=2000).run()
    connections.close()
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
