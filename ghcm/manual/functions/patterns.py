"""Examples of regular expressions."""

from __future__ import annotations

from ghcm.manual.example import Example

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "matches": (Example(r'matches("GET /docs", r"/\w+")', "true"),),
    "full_match": (Example(r'full_match("GET /docs", r"/\w+")', "false"),),
    "extract": (
        Example(r'extract("user=ann id=7", r"id=(\d+)", 1)', '"7"'),
        Example(r'extract("user=ann", r"id=(\d+)", 1)', "null"),
    ),
    "replace_pattern": (Example(r'replace_pattern("a1b22", r"\d+", "#")', '"a#b#"'),),
    "split_pattern": (Example(r'split_pattern("a, b;c", r"[,;] *")', '["a", "b", "c"]'),),
    "count_matches": (Example(r'count_matches("a1b22", r"\d+")', "2"),),
    "extract_all": (Example(r'extract_all("a1b22", r"\d+")', '["1", "22"]'),),
}
