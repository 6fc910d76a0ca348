"""Sinks that are seen at once, and nowhere as a sink."""

from pathlib import Path

import pytest

from ghcm.errors import GhcmError, ProgramError
from ghcm.runtime.sinks.sink import open_writer, read, view
from ghcm.spg.connectors import Discard
from ghcm.spg.text import parse_program, print_program
from tests.conformance.live_runs import checked
from tests.redis_server import connected

TEXT = """program p

record V { page: string, n: int }
sink live = redis("p:live", key = v => v.page, delivery = at_least_once)
sink slow = redis("p:slow", key = v => v.page)
sink none = discard()
sink gone = discard()

stream u {
  rows = memory([V { page: "a", n: 1 }])
  rows.to(live)
  rows.to(slow)
  rows.to(none)
  rows.to(gone)
}
"""


def test_readers_see_rows_before_the_commit_where_that_is_asked_for(tmp_path: Path) -> None:
    program, connections = checked(TEXT), connected(tmp_path)
    assert parse_program(print_program(program)) == program
    seen = dict[str, list[tuple[object, ...]]]()
    for name in ("live", "slow"):
        writer = open_writer(program.sink(name), connections, writer="w", key=lambda row: row[0])
        writer.write([("a", 1)])
        writer.write([("b", 2), ("a", 3)])
        seen[name] = sorted(read(program.sink(name), connections))
        assert (writer.pending, writer.prepare("v1"), writer.commit("v1").version) == (3, 3, "v1")
        assert sorted(read(program.sink(name), connections, version="v1")) == [("a", 3), ("b", 2)]
        writer.close()
    assert seen == {"live": [("a", 3), ("b", 2)], "slow": []}


def test_what_is_discarded_is_nowhere(tmp_path: Path) -> None:
    program, connections = checked(TEXT), connected(tmp_path)
    assert program.sink("none").connector == program.sink("gone").connector == Discard()
    writer = open_writer(program.sink("none"), connections, writer="w")
    writer.write([("a", 1)])
    assert (writer.prepare("v"), writer.commit("v").rows) == (1, 1)
    with pytest.raises(GhcmError, match='sink "none" cannot be read'):
        read(program.sink("none"), connections)
    assert view(program.sink("none"), connections).latest() is None
    with pytest.raises(ProgramError, match='sink "none" cannot be read'):
        checked(TEXT.replace("rows.to(live)", "rows.to(live)\n  none.read().to(gone)"))


def test_what_is_replaced_as_a_whole_is_not_seen_at_once() -> None:
    with pytest.raises(ProgramError, match="replaced as a whole") as caught:
        checked(TEXT.replace("delivery", "mode = replace, delivery"))
    assert "GHCM-302" in str(caught.value)
