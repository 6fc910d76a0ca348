"""Rows and charts of sinks, panels and calls over HTTP: what they show, how fresh they are, what they refuse."""

import xml.etree.ElementTree as xml
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

from tests.system.running import Running, running, until

pytestmark = pytest.mark.system

PROGRAM = """\
program shop

record Sale { at: timestamp, item: string, buyer: string, amount: int }

sink sales = parquet("out/sales", mode = append)
sink totals = redis("shop:totals", key = t => t.key, mode = upsert)

stream watch {
  sold = files("sales.csv", format = csv).as(Sale).event_time(s => s.at, disorder = 1s)
  sold.to(sales)
  counted = sold.map_to_pair(s => (s.item, s.amount)).reduce_by_key((a, b) => a + b)
  counted.to(totals)
}

responsive stream all_totals() { watch.counted.read().reply() }
"""
PANELS = """\
title = "The shop"

[[panel]]
title = "Sales over time"
sink = "sales"
kind = "line"
x = "at"
y = "amount"
by = "item"

[[panel]]
title = "Latest sales"
sink = "sales"
kind = "table"
columns = ["at", "item"]
limit = 2
"""
HOSTILE = '<script>alert(1)</script> $x_1$ & "'
SALES = [
    ("2026-01-01T00:00:00Z", "tea", "ann", 3),
    ("2026-01-01T00:00:01Z", HOSTILE, "bob", 4),
    ("2026-01-01T00:00:09Z", "tea", "bob", 5),
]
SINK = "/programs/shop/sinks/sales"
CHART = f"{SINK}/chart?kind=line&x=at&y=amount"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("charts")
    (folder / "shop.istream").write_text(PROGRAM)
    (folder / "shop.watch.toml").write_text(PANELS)
    lines = [f'{at},"{item.replace(chr(34), chr(34) * 2)}",{buyer},{amount}' for at, item, buyer, amount in SALES]
    (folder / "sales.csv").write_text("\n".join(["at,item,buyer,amount", *lines, ""]))
    with running(folder) as daemon:
        daemon.submit("shop.istream")
        until(lambda: len(daemon.get(f"{SINK}/rows").json["rows"]) == 3, "the sales to be written")
        yield daemon


def picture(daemon: Running, path: str) -> bytes:
    import urllib.request

    with urllib.request.urlopen(daemon.url + path, timeout=60) as found:
        return bytes(found.read())


def test_rows_of_a_sink(shop: Running) -> None:
    found = shop.get(f"{SINK}/rows").json
    assert [row["amount"] for row in found["rows"]] == [5, 4, 3]
    assert (found["total"], found["whole"]) == (3, True)
    assert [row["buyer"] for row in shop.get(f"{SINK}/rows?where=item:tea&order=at").json["rows"]] == ["ann", "bob"]
    assert shop.get(f"{SINK}/rows?last=5s&columns=amount").json["rows"] == [{"amount": 5}]
    assert shop.get(f"{SINK}/rows?limit=1&columns=item,amount&format=csv").text == "item,amount\r\ntea,5\r\n"


def test_rows_of_a_place_on_redis(shop: Running) -> None:
    found = shop.get("/programs/shop/sinks/totals/rows?order=-value").json
    assert found["rows"] == [{"key": "tea", "value": 8}, {"key": HOSTILE, "value": 4}]


def test_sinks_say_how_fresh_they_are(shop: Running) -> None:
    listed = {each["name"]: each for each in shop.get("/programs/shop/sinks").json}
    assert listed["sales"]["rows"] == 3
    assert listed["sales"]["columns"] == {"at": "timestamp", "item": "string", "buyer": "string", "amount": "int"}
    assert listed["sales"]["version"] and listed["sales"]["as_of"] > "2026"
    assert listed["totals"]["version"]


def test_who_has_the_rows_is_told_so(shop: Running) -> None:
    tag = shop.get(f"{SINK}/rows").headers["etag"]
    assert shop.get(f"{SINK}/rows", **{"If-None-Match": tag}).status == 304
    assert shop.get(f"{SINK}/rows?limit=1", **{"If-None-Match": tag}).status == 200
    tag = shop.get(CHART).headers["etag"]
    assert shop.get(CHART, **{"If-None-Match": tag}).status == 304


@pytest.mark.parametrize(
    "query",
    [
        "kind=line&x=at&y=amount",
        "kind=line&x=at&y=amount&by=item&stacked=true",
        "kind=bar&x=buyer&y=amount&unit=bytes",
        "kind=share&by=item&y=amount&theme=dark",
        "kind=share&by=item&y=amount&x=at",
        "kind=graph&from=buyer&to=item&step=at&label=item&severity=amount&width=360",
        "kind=bar&x=buyer&y=amount&where=item:none",
    ],
)
def test_charts_are_the_same_bytes_and_safe(shop: Running, query: str) -> None:
    svg = picture(shop, f"{SINK}/chart?{query}")
    assert svg == picture(shop, f"{SINK}/chart?{query}")
    tags = {element.tag.rpartition("}")[2] for element in xml.fromstring(svg).iter()}
    assert "svg" in tags
    assert not tags & {"script", "foreignObject", "image", "b"}
    png = picture(shop, f"{SINK}/chart?{query}&format=png")
    assert png.startswith(b"\x89PNG") and png == picture(shop, f"{SINK}/chart?{query}&format=png")


def test_a_hostile_name_is_text_in_a_chart(shop: Running) -> None:
    answer = shop.get(f"{SINK}/chart?kind=bar&x=item&y=amount&width=1200")
    assert HOSTILE in "".join(xml.fromstring(answer.text).itertext())
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_chart_of_a_call(shop: Running) -> None:
    link = shop.post("/programs/shop/units/all_totals/calls?wait=60").json["links"]["self"]
    answer = shop.get(f"{link}/chart?kind=bar&x=key&y=value&title=Sold")
    assert answer.headers["content-type"] == "image/svg+xml"
    text = "".join(xml.fromstring(answer.text).itertext())
    assert "Sold" in text and "tea" in text
    wrong = shop.get(f"{link}/chart?kind=bar&x=kee&y=value")
    assert (wrong.status, wrong.json["hint"]) == (422, 'did you mean "key"?')


def test_panels_are_those_of_the_file(shop: Running) -> None:
    board = shop.get("/programs/shop/panels").json
    assert board["title"] == "The shop"
    line, table = board["panels"]
    assert (line["name"], line["options"]["by"]) == ("sales-over-time", "item")
    assert picture(shop, line["links"]["chart"]).startswith(b"<?xml")
    rows = shop.get(table["links"]["rows"]).json["rows"]
    assert [sorted(row) for row in rows] == [["at", "item"]] * 2
    assert "chart" not in table["links"]


@pytest.mark.parametrize(
    ("path", "status", "message", "hint"),
    [
        ("/programs/shop/sinks/sale/rows", 404, 'program "shop" has no sink "sale"', 'did you mean "sales"?'),
        (f"{SINK}/rows?order=amont", 422, 'there is no column "amont"', 'did you mean "amount"?'),
        (f"{SINK}/rows?since=soon", 422, 'since cannot be "soon": it is no moment', None),
        (f"{SINK}/rows?where=item", 422, '"item" is no condition: it has no ":"', "write where=item:VALUE."),
        (f"{SINK}/chart?kind=line&x=at", 422, '"line" needs "y"', None),
        (f"{SINK}/chart?kind=line&x=at&y=item", 422, '"y" cannot be the column "item": it is string, no number', None),
        (f"{SINK}/chart?kind=bar&x=itm&y=amount", 422, 'there is no column "itm"', 'did you mean "item"?'),
        ("/programs/shop/panels/latest-sale/rows", 404, None, 'did you mean "latest-sales"?'),
        ("/programs/shop/panels/latest-sales/chart", 404, 'panel "latest-sales" is no chart but a table', None),
    ],
)
def test_mistakes_are_named(shop: Running, path: str, status: int, message: str | None, hint: str | None) -> None:
    answer = shop.get(path)
    assert answer.status == status, answer.text
    assert message is None or answer.json["message"] == message
    assert hint is None or answer.json["hint"] == hint


def drawing(daemon: Running) -> list[psutil.Process]:
    """The drawing processes that live."""
    found: list[psutil.Process] = []
    for each in daemon.processes():
        with suppress(psutil.NoSuchProcess):  # also of one that is dead and not yet buried
            found += [each] if "ghcm.supervisor.charts" in each.cmdline() else []
    return found


def test_a_drawing_process_that_dies_is_started_again(shop: Running) -> None:
    picture(shop, f"{CHART}&width=801")
    [first] = drawing(shop)
    first.kill()
    until(lambda: first not in drawing(shop), "the process to be gone")
    assert picture(shop, f"{CHART}&width=802").startswith(b"<?xml")
    assert first not in drawing(shop)


def test_a_program_with_a_wrong_panel_is_refused_with_its_place(shop: Running) -> None:
    (shop.folder / "bad.istream").write_text(PROGRAM.replace("program shop", "program bad"))
    (shop.folder / "bad.watch.toml").write_text(PANELS.replace('y = "amount"', 'y = "amont"'))
    refused = shop.cli("check", "bad.istream")
    assert refused.returncode == 2
    assert 'sink "sales": there is no column "amont"' in refused.stderr + refused.stdout
    assert "bad.watch.toml:8:5" in refused.stderr + refused.stdout
