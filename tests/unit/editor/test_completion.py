"""What is proposed at a place, marked with |."""

import pytest

from ghcm.editor.completion import complete
from ghcm.editor.document import Document

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
        (WATCH + "}\nresponsive stream most() { watch.|", ["visits", "totals"]),
        (WATCH + "}\nresponsive stream most() { lake.|", ["read"]),
        ("record Other { visit: |", ["Method", "Visit", "Other"]),
        (WATCH + "  visits.filter(v => v.page == Method.|", ["get", "post"]),
    ],
)
def test_the_likeliest_come_first(written: str, first: list[str]) -> None:
    assert proposed(written)[: len(first)] == first


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
