"""The picture of a program: everything is in it, boxes do not lie on each other, and it is the same each time."""

import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import HealthCheck, given, settings

from ghcm.spg.graph import Program
from ghcm.spg.layout import lay_out
from ghcm.spg.svg import draw
from ghcm.spg.text import parse_program
from tests.laws.spgs import programs

SVG = "{http://www.w3.org/2000/svg}"
TRAFFIC = parse_program((Path(__file__).parent / "traffic.spg").read_text(encoding="utf-8"))


def texts(picture: str) -> list[str]:
    return ["".join(each.itertext()) for each in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def test_everything_is_in_the_picture() -> None:
    picture = draw(TRAFFIC, "before")
    shown = texts(picture)
    for unit in TRAFFIC.units:
        assert any(text.startswith(unit.name) for text in shown)
        assert all(any(text.startswith(task.id) for text in shown) for task in unit.tasks)
    assert {"before", "shares", "rebuild_calls", "filter f.bytes > 0", "hash(key) 4→2", "2→4"} <= set(shown)
    assert "stream, 16 calls, 14 tasks" in shown
    assert draw(TRAFFIC, "before") == picture


def test_data_and_instructions_have_two_colours() -> None:
    paths = [each.get("class") for each in ElementTree.fromstring(draw(TRAFFIC)).iter(f"{SVG}path")]
    assert paths.count("call") == 2  # to the cache and from the cache
    assert paths.count("edge") == 13 + 7 + 2 + 5  # inside the units; three sinks written, one read, one table read


def test_a_unit_is_drawn_alone() -> None:
    assert "rebuild" not in draw(TRAFFIC.units[2])


def test_boxes_and_gaps() -> None:
    sizes = dict.fromkeys("abcdefgh", (100.0, 40.0))
    edges = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d"), ("e", "d"), ("d", "f"), ("f", "a"), ("g", "h")]
    layout = lay_out(sizes, edges)
    for one, other in combinations(sizes, 2):
        (x1, y1), (x2, y2) = layout.corners[one], layout.corners[other]
        assert abs(x1 - x2) >= 135 or abs(y1 - y2) >= 91
    assert [len(route) for route in layout.routes] == [0, 0, 0, 0, 1, 1, 0, 2, 0]


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_every_program_is_drawn_and_is_xml(program: Program) -> None:
    picture = draw(program)
    ElementTree.fromstring(picture)
    assert not re.search(r"nan|inf\b", re.sub(r">[^<]*<", "><", picture))
