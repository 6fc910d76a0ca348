"""Regular expressions in the table of functions.

The subset that RE2, Java and Python agree on, ASCII classes; the pattern must be a constant. The lowering rewrites it so
that all three read it alike without flags: classes and `.` are spelt out, groups capture nothing, and every `$` left in it
means the end of the text (Python writes `\\Z`, the others `\\z`).
"""

from __future__ import annotations

from ghcm.functions.table import Function
from ghcm.signatures import INT, STRING, TEXT2, first, fixed
from ghcm.support import Never
from ghcm.types import List, Nullable

TABLE = (
    Function("matches", "matches(s, pattern)", TEXT2, "whether the pattern is found anywhere in it", constants=(1,)),
    Function(
        "full_match",
        "full_match(s, pattern)",
        TEXT2,
        "whether the whole of it is a match of the pattern",
        constants=(1,),
    ),
    Function(
        "extract",
        "extract(s, pattern), extract(s, pattern, group)",
        first(fixed(Nullable(STRING), STRING, STRING), fixed(Nullable(STRING), STRING, STRING, INT)),
        "the first match, or what a group of it took, counted from 1; null where there is none; empty where the group took no part",
        constants=(1, 2),
    ),
    Function(
        "replace_pattern",
        "replace_pattern(s, pattern, replacement)",
        fixed(STRING, STRING, STRING, STRING),
        "every match from the left replaced; nothing in the replacement has a meaning of its own",
        constants=(1,),
    ),
    Function(
        "split_pattern",
        "split_pattern(s, pattern)",
        fixed(List(STRING), STRING, STRING),
        "the parts between matches",
        constants=(1,),
        columnar=Never("Polars splits by plain text only"),
    ),
    Function(
        "count_matches",
        "count_matches(s, pattern)",
        fixed(INT, STRING, STRING),
        "how many matches there are that do not overlap",
        constants=(1,),
    ),
    Function(
        "extract_all",
        "extract_all(s, pattern)",
        fixed(List(STRING), STRING, STRING),
        "all matches from the left that do not overlap, whole match each",
        constants=(1,),
    ),
)
