"""The SPG as text for people, for golden files and for `ghcm explain`: one line per task, and back again.

    program traffic

    record Flow {src: string from "id.orig_h", bytes: int}

    sink shares: {key: string, value: int} = redis("traffic:share") upsert key (r: {key: string, value: int}) => r.key

    stream monitor  # traffic.istream:9:1
      flows = source(files("flows/*.json", format("json"))) : stream<Flow> bounded named  # traffic.istream:10:3
      busy = filter((f: Flow) => f.bytes > 0) <- flows : stream<Flow> bounded  # traffic.istream:12:9

A line is `id xN = operation <- producer exchange, ... : collection`, where `xN` is the parallelism; comments are the
positions in the source.
"""

from __future__ import annotations

from ghcm.spg.graph import Program
from ghcm.spg.notation.graph import lines_of
from ghcm.spg.notation.reading import Reader
from ghcm.spg.notation.tokens import Tokens


def print_program(program: Program) -> str:
    """The program as text; `parse_program` gives it back, positions, records' names and paths of fields included."""
    return "\n".join(lines_of(program)) + "\n"


def parse_program(text: str) -> Program:
    """The inverse of `print_program`; ValueError says line, column and what was expected."""
    return Reader(Tokens(text)).program()
