"""What is proposed at a place, marked with |."""

import pytest

from ghcm.aggregates import AGGREGATES
from ghcm.editor.completion import complete
from ghcm.editor.document import Document
from ghcm.editor.hover import hover

HEAD = """program visits

enum Method { get, post, "x-y" }
record Visit { at: timestamp, page: string, bytes: int? }

sink lake = parquet("out/lake", mode = append)

"""
WATCH = """stream watch {
  visits = files("visits.jsonl", format = json).as(Visit)
  totals = visits.map_to_pair(v => (v.page, 1)).reduce_by_key((a, b) => a + b)
"""


def proposed(written: str) -> list[str]:
    text = HEAD + written
    document = Document("visits.istream")
    document.change(text.replace("|", ""))
    return [each.text for each in complete(document, text.index("|"))]


@pytest.mark.parametrize(
    ("written", "first"),
    [
        (WATCH + "  visits.filter(v => v.|", ["at", "page", "bytes"]),
        (WATCH + "  visits.filter(v => v.bytes is not null and v.pa|ge == 3)\n}", ["at", "page", "bytes"]),
        (WATCH + "  visits.map(v => Visit { at: v.at, |", ["page: ", "bytes: "]),
        (WATCH + "  totals.top(|", ["count = ", "by = ", "ascending = "]),
        (
            WATCH + "  totals.aggregate_by_key(n = first(value, |",
            ["value = ", "count = ", "order = ", "arrival", "where = "],
        ),
        (WATCH + "}\nresponsive stream most() { watch.|", ["visits", "totals"]),
        (WATCH + "}\nresponsive stream most() { lake.|", ["read"]),
        ("record Other { visit: |", ["Method", "Visit", "Other"]),
        (WATCH + "  visits.filter(v => v.page == Method.|", ["get", "post"]),
        (WATCH + "  visits.map(v => v.page.words().|", ["map", "filter", "any", "all"]),
        (
            "batch b(least: int) {\n  all = lake.read()\n  all.map(v => v.page.words().map(w => |",
            ["w", "v", "all", "least"],
        ),
        ('sink other = parquet("x", |', ["path = ", "mode = "]),
        ("responsive batch job(n: int, since: |", ["Method", "Visit"]),
    ],
)
def test_the_likeliest_come_first(written: str, first: list[str]) -> None:
    assert proposed(written)[: len(first)] == first


@pytest.mark.parametrize(
    ("written", "all_of_them"),
    [
        (WATCH + "  visits.window(|", ["tumbling", "sliding", "cumulating", "session"]),
        (WATCH + "  visits.window(tu|mbling(10s))\n}", ["tumbling", "sliding", "cumulating", "session"]),
        (WATCH + "  visits.to(|", ["lake"]),
        (WATCH + "  visits.as(|", ["Visit"]),
        (WATCH + "  visits.join(visits, kind = |", ["inner", "left", "right", "full", "semi", "anti"]),
        (WATCH + '  more = files("more", compression = |', ["gzip", "zstd", "none"]),
        (WATCH + '  more = kafka("more", key = |', ["at", "page", "bytes"]),
        (WATCH + "  visits.key_by(v => v.page).aggregate_by_key(n = last(page, order = |", ["arrival"]),
        (WATCH + "  totals.aggregate_by_key(count(), n = |", [each.function.value for each in AGGREGATES.values()]),
        ("sink other = |", ["discard", "files", "kafka", "parquet", "redis", "sql"]),
        ("cache calls = |", ["kafka", "redis"]),
    ],
)
def test_where_few_words_can_stand_these_are_proposed_alone(written: str, all_of_them: list[str]) -> None:
    assert proposed(written) == all_of_them


@pytest.mark.parametrize(
    ("written", "among", "not_among"),
    [
        (WATCH + "  visits.|", {"filter", "window", "to"}, {"files", "map_values", "changes"}),
        (WATCH + "  totals.|", {"to", "changes", "filter"}, {"key_by", "files"}),
        (WATCH + "  visits.filter(v => v.page.|", {"lower", "starts_with", "length"}, {"filter", "truncate"}),
        (WATCH + "  visits.filter(v => |", {"v", "lower", "not", "Visit"}, {"lake", "files"}),
        (WATCH + "  |", {"visits", "totals", "files", "lake"}, {"lower"}),
        ("stream broken { x = files(", set[str](), {"filter"}),
    ],
)
def test_only_what_fits_is_proposed(written: str, among: set[str], not_among: set[str]) -> None:
    found = set(proposed(written if "|" in written else written + "|"))
    assert among <= found
    assert not found & not_among


def test_a_function_of_the_program_is_shown_where_it_is_called() -> None:
    document = Document("visits.istream")
    text = HEAD + "function half(x: int) : int = x // 2\n" + WATCH + "  visits.map(v => half(v.bytes ?? 0)).to(lake)\n}"
    document.change(text)
    shown = hover(document, text.index("half(v") + 1)
    assert shown is not None and "function half(x: int) : int = x // 2" in shown
