"""Regular expressions in the table of functions.

The subset that RE2, Java and Python agree on, ASCII classes; the pattern must be a constant. The lowering rewrites it
so that all three read it alike without flags: classes and `.` are spelt out, groups capture nothing, and every `$`
left in it means the end of the text (Python writes `\\Z`, the others `\\z`).
"""

from ghcm.functions.table import Example, Function
from ghcm.signatures import BOOL, INT, STRING, first, fixed
from ghcm.support import Never
from ghcm.types import List, Nullable

# fmt: off
TABLE = (
    Function(
        "matches", "(s, pattern)", (STRING, STRING), BOOL, "whether the pattern is found anywhere in it",
        constants=(1,), shows=(Example(r'matches("GET /docs", r"/\w+")', "true"),),
        python="{pattern}.search({0}) is not None", polars="{0}.str.contains({pattern})",
        spark="regexp_like({0}, {pattern})",
    ),
    Function(
        "full_match", "(s, pattern)", (STRING, STRING), BOOL, "whether the whole of it is a match of the pattern",
        constants=(1,), shows=(Example(r'full_match("GET /docs", r"/\w+")', "false"),),
        python="{pattern}.fullmatch({0}) is not None", polars="{0}.str.contains({pattern:whole})",
        spark="regexp_like({0}, {pattern:whole})",
    ),
    Function(
        "extract", "extract(s, pattern), extract(s, pattern, group)",
        first(fixed(Nullable(STRING), STRING, STRING), fixed(Nullable(STRING), STRING, STRING, INT)), constants=(1, 2),
        says="the first match, or what a group of it took, counted from 1; null where there is none; empty where the "
        "group took no part",
        shows={r'extract("user=ann id=7", r"id=(\d+)", 1)': '"7"', r'extract("user=ann", r"id=(\d+)", 1)': "null"},
        python="row_texts.group({pattern}.search({0}), {2|0})",
        polars="column_texts.extract({0}, {pattern}, {2:bare|0})",
        spark={
            2: "CASE WHEN regexp_like({0}, {pattern}) THEN regexp_extract({0}, {pattern}, 0) END",
            3: "CASE WHEN regexp_like({0}, {pattern}) THEN regexp_extract({0}, {pattern}, int({2})) END",
        },
    ),
    Function(
        "replace_pattern", "(s, pattern, replacement)", (STRING, STRING, STRING), STRING,
        "every match from the left replaced; nothing in the replacement has a meaning of its own", constants=(1,),
        shows={r'replace_pattern("a1b22", r"\d+", "#")': '"a#b#"'},
        python="row_texts.replace_pattern({pattern}, {0}, {2})",
        polars='{0}.str.replace_all({pattern}, {2:given}.str.replace_all("$", "$$", literal=True))',
        spark=r"regexp_replace({0}, {pattern}, replace(replace({2}, '\\', '\\\\'), '\u0024', '\\\u0024'))",
    ),
    Function(
        "split_pattern", "(s, pattern)", (STRING, STRING), List(STRING), "the parts between matches", constants=(1,),
        shows={r'split_pattern("a, b;c", r"[,;] *")': '["a", "b", "c"]'},
        python="{pattern}.split({0})", polars=Never("Polars splits by plain text only"),
        spark="split({0}, {pattern}, -1)",
    ),
    Function(
        "count_matches", "(s, pattern)", (STRING, STRING), INT, "how many matches there are that do not overlap",
        constants=(1,), shows=(Example(r'count_matches("a1b22", r"\d+")', "2"),),
        python="len({pattern}.findall({0}))", polars="{0}.str.count_matches({pattern}).cast(pl.Int64)",
        spark="bigint(regexp_count({0}, {pattern}))",
    ),
    Function(
        "extract_all", "(s, pattern)", (STRING, STRING), List(STRING),
        "all matches from the left that do not overlap, whole match each",
        constants=(1,), shows=(Example(r'extract_all("a1b22", r"\d+")', '["1", "22"]'),),
        python="{pattern}.findall({0})", polars="{0}.str.extract_all({pattern})",
        spark="regexp_extract_all({0}, {pattern}, 0)",
    ),
)
