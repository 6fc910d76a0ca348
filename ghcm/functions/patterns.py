"""Regular expressions in the table of functions.

The subset that RE2, Java and Python agree on, ASCII classes; the pattern must be a constant. The lowering rewrites it so
that all three read it alike without flags: classes and `.` are spelt out, groups capture nothing, and every `$` left in it
means the end of the text (Python writes `\\Z`, the others `\\z`).
"""

from __future__ import annotations

from ghcm.functions.table import Function
from ghcm.signatures import STRING, TEXT2, fixed
from ghcm.types import List

__all__ = ["TABLE"]

TABLE = (
    Function("matches", "matches(s, pattern)", TEXT2, "whether the pattern is found anywhere in it", constants=(1,)),
    Function(
        "extract_all",
        "extract_all(s, pattern)",
        fixed(List(STRING), STRING, STRING),
        "all matches from the left that do not overlap, whole match each",
        constants=(1,),
    ),
)
