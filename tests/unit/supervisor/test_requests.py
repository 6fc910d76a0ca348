"""Requests that are odd, and what is given to spreadsheets, browsers and people: true answers of a bounded size."""

import csv
import io
from collections.abc import Iterator

import pytest

from tests.unit.supervisor.serving import CALLS, Served, serving

ROWS = "/programs/shop/sinks/kept/rows"
CHART = "/programs/shop/sinks/kept/chart"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("shop")) as served:
        yield served


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{ROWS}?offset={2**63}", 422),
        (f"{ROWS}?offset={2**53}", 200),
        (f"{ROWS}?columns=item,item&order=item,-item", 200),
        (f"{ROWS}?where=amount:{'[' * 30_000}", 422),
        (f"{ROWS}?where=amount:{'9' * 5_000}", 422),
        (f"{ROWS}?where=amount:1e999", 422),
        (f"{ROWS}?where=item:%00", 200),
        (f"{ROWS}?last={'9' * 40}d", 422),
        (f"{ROWS}?last={'9' * 400}", 422),
        (f"{ROWS}?last=100000d", 200),
        (f"{ROWS}?since=0001-01-01T00:00:00Z&until=9999-12-31T23:59:59Z", 200),
        ("/programs/shop/dead?offset=5", 200),
        (f"{CHART}?kind=graph&from=item&to=item&severity=amount", 200),
        (f"{CHART}?kind=bar&x=item&y=amount,amount", 200),
        ("/programs/shop/units/total/calls?before=9.x", 200),
        ("/programs/shop/units/total/calls?before=x", 422),
        ("/programs/nothing/units/total/calls", 404),
        ("/programs/shop/units/nothing/calls", 404),
        ("/programs/shop/units/watch/calls", 200),
        ("/programs/shop/", 404),
        ("/programs//shop", 404),
        ("/watch/nothing", 404),
    ],
)
def test_odd_questions_have_answers(shop: Served, path: str, status: int) -> None:
    answer = shop.get(path)
    assert answer.status == status, answer.body


@pytest.mark.parametrize(("engine", "status"), [("native", 200), ("spark", 422), ("duckdb", 422)])
def test_a_call_may_name_an_engine_that_runs_its_unit(shop: Served, engine: str, status: int) -> None:
    answer = shop.post(f"{CALLS}?wait=60&engine={engine}", {"item": "tea"})
    assert answer.status == status, answer.body


def test_a_column_that_is_asked_for_twice_is_given_once(shop: Served) -> None:
    assert shop.get(f"{ROWS}?columns=item,item&limit=1").json["rows"] == [{"item": "tea"}]


def test_no_cell_is_a_formula_and_the_file_has_a_name(shop: Served) -> None:
    answer = shop.get(f"{ROWS}?format=csv&columns=item,amount")
    cells = list(csv.reader(io.StringIO(answer.body.decode())))
    assert cells == [["item", "amount"], ["tea", "5"], ["'=1+1", "4"], ["tea", "3"]]
    assert answer.headers["content-disposition"] == 'attachment; filename="shop-kept.csv"'
    assert [row["item"] for row in shop.get(ROWS).json["rows"]] == ["tea", "=1+1", "tea"]


def test_a_picture_has_a_name(shop: Served) -> None:
    answer = shop.get(f"{CHART}?kind=bar&x=item&y=amount&format=png&title=What+is+sold%3F%0d%0aX:")
    assert answer.body.startswith(b"\x89PNG")
    assert answer.headers["content-disposition"] == 'inline; filename="What-is-sold---X-.png"'


def test_calls_are_listed_in_pages_of_a_size(shop: Served) -> None:
    path = "/programs/shop/units/store/calls"
    for _ in range(5):
        shop.post(f"{path}?wait=60", {"least": 5})
    for number in range(30):
        shop.post(CALLS, {"item": f"{number}" * 30_000})
    for listed, limit in ((path, 2), (path, 5), (CALLS, 1000)):
        known = len(shop.store.calls.find("shop", listed.split("/")[4], limit=1000))
        found, link, sizes = list[str](), f"{listed}?limit={limit}", list[int]()
        while link:
            page = shop.get(link)
            found += [call["id"] for call in page.json]
            sizes.append(len(page.body))
            link = page.headers.get("link", "").partition(">")[0].removeprefix("<")
        assert len(found) == len(set(found)) == known
        assert max(sizes) < 2_000_000
        assert len(sizes) > 1 or limit == known


def test_the_documentation_comes_from_here_alone(shop: Served) -> None:
    page = shop.get("/docs").body.decode()
    assert "//" not in page.replace("<!doctype", "")
    for part in ("/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js", "/docs/docs.js", "/watch/icon.svg"):
        assert part in page
        assert shop.get(part).status == 200
    assert shop.get("/docs/swagger.js").status == 404
