"""Charts show the sums of what they are given: by axis, by series, the greatest by themselves; graphs stay readable."""

from math import inf, nan

import polars as pl

from ghcm.panels import Panel
from ghcm.runtime.data.columns import columns_of
from ghcm.supervisor.charts.drawing import Bars, Drawing, Graph, Lines, Order, decode, encode
from ghcm.supervisor.charts.plan import plan
from ghcm.types import Duration, Field, Float, Int, Nullable, String, Struct, Timestamp

COLUMNS = Struct(
    (
        Field("at", Timestamp()),
        Field("host", String()),
        Field("bytes", Nullable(Int())),
        Field("took", Duration()),
        Field("ratio", Float()),
    )
)
ROWS = [
    (1, "a", 10, 1_500_000, 1.0),
    (1, "b", 5, 500_000, float("nan")),
    (2, "a", 1, 0, float("inf")),
    (2, "c", None, 0, 0.5),
    (3, "d", 2, 0, 0.5),
]


def frame() -> pl.DataFrame:
    return columns_of(ROWS, [(field.name, field.type) for field in COLUMNS.fields])


def drawn(**panel: object) -> Drawing:
    return plan(Panel("T", "s", **panel), frame(), COLUMNS)  # type: ignore[arg-type]


def lines(**panel: object) -> tuple[list[float], dict[str, list[float | None]]]:
    found = drawn(kind="line", x="at", **panel)
    assert isinstance(found, Lines)
    return found.xs, {each.name: each.values for each in found.series}


def test_lines_are_sums_and_gaps_where_nothing_was_measured() -> None:
    assert lines(y=("bytes",)) == ([1.0, 2.0, 3.0], {"bytes": [15.0, 1.0, 2.0]})
    assert lines(y=("took", "ratio"))[1] == {"took": [2.0, 0.0, 0.0], "ratio": [1.0, 0.5, 0.5]}
    only_null = plan(Panel("T", "s", "line", x="at", y=("bytes",)), frame().filter(pl.col("host") == "c"), COLUMNS)
    assert isinstance(only_null, Lines) and only_null.series[0].values == [None]


def test_series_beyond_the_greatest_stand_together() -> None:
    assert lines(y=("bytes",), by="host", top=1)[1] == {"a": [10.0, 1.0, 0.0], "other": [5.0, 0.0, 2.0]}
    assert set(lines(y=("bytes",), by="host", top=2)[1]) == {"a", "b", "d"}  # one other is itself


def test_shares_add_up() -> None:
    found = drawn(kind="share", by="host", y=("bytes",), x="at", top=1)
    assert isinstance(found, Lines)
    assert [sum(each.values[at] or 0 for each in found.series) for at in range(3)] == [100.0, 100.0, 100.0]
    whole = drawn(kind="share", by="host", y=("bytes",), top=1)
    assert isinstance(whole, Bars)
    assert (whole.names, whole.values) == (["a", "other"], [11.0, 7.0])


def test_bars_are_the_greatest_sums() -> None:
    found = drawn(kind="bar", x="host", y=("bytes",), top=2)
    assert isinstance(found, Bars)
    assert (found.names, found.values, found.note) == (["a", "b"], [11.0, 5.0], "and 1 more")


ALERTS = Struct((Field("at", Timestamp()), Field("src", String()), Field("dst", String()), Field("level", Int())))


def graph(rows: list[tuple[int, str, str, int]], top: int = 0) -> Graph:
    found = columns_of(rows, [(field.name, field.type) for field in ALERTS.fields])
    panel = Panel("T", "s", "graph", source="src", target="dst", step="at", severity="level", nodes="hosts", top=top)
    made = plan(panel, found, ALERTS)
    assert isinstance(made, Graph)
    return made


def test_a_chain_reads_from_left_to_right() -> None:
    made = graph([(2, "b", "c", 1), (1, "a", "b", 2), (3, "a", "b", 1), (4, "c", "a", 3)])
    assert made.names == ["a", "b", "c"]
    assert made.roles == ["both", "both", "both"]
    assert [point[0] for point in made.points] == [0.0, 0.5, 1.0]
    shown = [(each.source, each.target, each.steps, each.level, each.count) for each in made.arrows]
    assert shown == [(0, 1, "1", 1, 2), (1, 2, "2", 1, 1), (2, 0, "3", 3, 1)]


def test_a_sweep_over_many_hosts_is_one_arrow() -> None:
    made = graph([(at, "a", f"h{at}", 2) for at in range(50)])
    assert made.names == ["a", "50 hosts such as h0"]
    assert (made.arrows[0].count, made.arrows[0].steps) == (50, "1–50")


def test_a_graph_speaks_in_the_words_of_its_panel() -> None:
    rows = pl.DataFrame({"src": ["a"], "dst": ["b"], "level": [1]})
    columns = Struct((Field("src", String()), Field("dst", String()), Field("level", Int())))
    plain = plan(Panel("T", "s", "graph", source="src", target="dst"), rows, columns)
    assert isinstance(plain, Graph)
    assert (plain.note, plain.role_names, plain.level) == ("2 nodes", ["source", "both", "target"], "")
    words = {"nodes": "towns", "roles": ("sends", "trades", "receives"), "severity": "level"}
    told = plan(Panel("T", "s", "graph", source="src", target="dst", **words), rows, columns)  # type: ignore[arg-type]
    assert isinstance(told, Graph)
    assert (told.note, told.role_names, told.level) == ("2 towns", ["sends", "trades", "receives"], "level")


def test_an_arrow_over_several_layers_goes_around_what_lies_between() -> None:
    made = graph([(1, "a", "b", 1), (2, "b", "c", 1), (3, "a", "c", 1)])
    assert [len(each.through) for each in made.arrows] == [0, 0, 1]
    assert made.arrows[2].through[0][0] == made.points[1][0] and made.arrows[2].through[0][1] != made.points[1][1]


def test_a_graph_stays_readable() -> None:
    rows = [(at, f"s{at % 40}", f"t{at % 37}", 1 + at % 3) for at in range(2000)]
    made = graph(rows, top=20)
    assert len(made.names) <= 20 and len(made.arrows) <= 40
    assert "not shown" in made.note
    assert {each.level for each in made.arrows} == {1}


def test_nothing_is_worse_than_a_severity_of_zero_and_no_number_is_none() -> None:
    rows = [(1, "a", "b", 1.0, "one"), (2, "a", "b", 0.0, "zero"), (3, "b", "c", nan, "none"), (4, "c", "d", inf, "")]
    columns = Struct((*ALERTS.fields[:3], Field("level", Float()), Field("what", String())))
    panel = Panel("T", "s", "graph", source="src", target="dst", severity="level", label="what")
    made = plan(panel, columns_of(rows, [(field.name, field.type) for field in columns.fields]), columns)
    assert isinstance(made, Graph)
    assert [(arrow.level, arrow.label) for arrow in made.arrows] == [(0, "zero"), (None, "none"), (None, "")]
    few = graph([(at, f"a{at}", f"b{at}", at % 2) for at in range(40)], top=2)
    assert [arrow.level for arrow in few.arrows] == [0]


def test_what_names_hide_is_shown() -> None:
    made = graph([(1, "a\x00\u202eb", "\ud7ff\ufeff", 1)])
    assert made.names == ["a\ufffd\ufffdb", "\ud7ff\ufffd"]


def test_orders_cross_as_bytes() -> None:
    drawings = [
        drawn(kind="line", x="at", y=("bytes",), by="host"), drawn(kind="bar", x="host", y=("bytes",)),
        graph([(1, "a", "b", 1)]),
    ]  # fmt: skip
    for each in drawings:
        order = Order(each, "png", "dark", 500, 0, heading=False)
        assert decode(encode(order)) == order
