"""Boards are read from TOML with all mistakes at once, each with its place; without a file the sinks make one."""

import pytest

from ghcm.errors import ProgramError
from ghcm.panels import default_board, read_board
from ghcm.source import Origin
from ghcm.spg.connectors import Mode, Parquet, Redis
from ghcm.spg.graph import Program, Sink
from ghcm.types import Field, Int, List, String, Struct, Timestamp

FLOWS = Struct(
    (Field("at", Timestamp()), Field("host", String()), Field("bytes", Int()), Field("tags", List(String())))
)
PROGRAM = Program("net", (), (Sink("flows", Parquet("flows"), Mode.APPEND, None, FLOWS, Origin("net", 1, 1)),), ())


def mistakes(text: str) -> list[tuple[str, str, int]]:
    """Message, hint and line of each mistake."""
    with pytest.raises(ProgramError) as caught:
        read_board(text, "net.watch.toml", PROGRAM)
    found = caught.value.diagnostics
    return [(each.message, each.hint, each.span.origin.line if each.span else 0) for each in found]


def test_keys_of_redis_for_other_applications_have_no_panel() -> None:
    redis = Sink("hosts", Redis("host:{host}", "json"), Mode.UPSERT, None, FLOWS, Origin("net", 2, 1))
    program = Program("net", (), (*PROGRAM.sinks, redis), ())
    assert {panel.sink for panel in default_board(program).panels} == {"flows"}
    with pytest.raises(ProgramError, match='"hosts" cannot be shown'):
        read_board('[[panel]]\ntitle = "A"\nsink = "hosts"\nkind = "table"\n', "net.watch.toml", program)


def test_a_board_is_read() -> None:
    text = """
title = "The net"
[[panel]]
title = "Bytes, by host"
sink = "flows"
kind = "line"
x = "at"
y = "bytes"
by = "host"
last = "5m"
[[panel]]
title = "Hosts"
sink = "flows"
kind = "state"
by = "host"
state = "host"
levels = { web = "good" }
where = { bytes = 1 }
"""
    board = read_board(text, "net.watch.toml", PROGRAM)
    line, state = board.panels
    assert (board.title, line.name, line.y, line.last) == ("The net", "bytes-by-host", ("bytes",), 300.0)
    assert (state.levels, state.where) == ({"web": "good"}, {"bytes": "1"})
    assert board.panel("hosts") is state


def test_all_mistakes_come_at_once_with_their_places() -> None:
    text = """
titel = "x"
[[panel]]
title = "A"
sink = "flow"
kind = "line"
x = "at"
y = "bytes"
[[panel]]
title = "B"
sink = "flows"
kind = "line"
x = "att"
y = ["bytes", "host"]
[[panel]]
title = "C"
sink = "flows"
kind = "bars"
[[panel]]
title = "D"
sink = "flows"
kind = "table"
last = "soon"
colums = ["at"]
"""
    assert mistakes(text) == [
        ('there is no "titel" in a declaration of panels', 'did you mean "title"?', 2),
        ('program "net" has no sink "flow"', 'did you mean "flows"?', 5),
        ('sink "flows": there is no column "att"', 'did you mean "at"?', 13),
        ('sink "flows": "y" cannot be the column "host": it is string, no number', "", 14),
        ('there is no kind "bars"', 'did you mean "bar"?', 18),
        ('"last" has to be a time such as "90s", "5m" or "1h"', "", 23),
        ('there is no option "colums"', 'did you mean "columns"?', 24),
    ]


@pytest.mark.parametrize(
    ("panel", "message"),
    [
        ('kind = "bar"\nx = "host"', '"bar" needs "y"'),
        ('kind = "line"\nx = "tags"\ny = "bytes"', 'sink "flows": "x" cannot be the column "tags": it is list<string>'),
        ('kind = "bar"\nx = "host"\ny = "bytes"\nby = "host"', 'a panel of kind "bar" has no "by"'),
        ('kind = "table"\norder = "-byts"', 'sink "flows": there is no column "byts"'),
        ('kind = "graph"\nfrom = "host"\nto = "host"\nroles = ["a"]', '"roles" are three'),
        ('kind = "table"\nlimit = 0', '"limit" has to be a number from 1 to 10,000'),
        ('kind = "story"\ntext = "host"\nkey = "host"\ngraph = "G"', 'there is no graph "G"'),
        ('kind = "state"\nby = "host"\nstate = "host"\nlevels = { a = "best" }', '"levels" has to be a table of texts'),
        ('kind = "table"\n[[panel]]\nkind = "table"\nsink = "flows"\ntitle = "P"', 'two panels have the name "p"'),
        ('kind = "table" x', "the declaration of panels is no valid TOML"),
    ],
)
def test_each_mistake_has_its_message(panel: str, message: str) -> None:
    [(found, _, line)] = mistakes(f'[[panel]]\ntitle = "P"\nsink = "flows"\n{panel}\n')
    assert found.startswith(message)
    assert line > 0


def test_sinks_make_a_board_of_their_own() -> None:
    chart, table = default_board(PROGRAM).panels
    assert (chart.kind, chart.x, chart.y) == ("line", "at", ("bytes",))
    assert (table.kind, table.sink) == ("table", "flows")
