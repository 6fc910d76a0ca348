"""Examples of functions of strings."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.manual.example import Example

EXAMPLES: dict[str, tuple[Example, ...]] = {
    "length": (Example('length("größe")', "5"), Example("length([1, 2, 3])", "3")),
    "lower": (Example('lower("ÄB")', '"äb"'),),
    "upper": (Example('upper("äb")', '"ÄB"'),),
    "trim": (Example('trim("  a b ")', '"a b"'), Example('trim("--a-b-", "-")', '"a-b"')),
    "trim_start": (Example('trim_start("  a ")', '"a "'),),
    "trim_end": (Example('trim_end("  a ")', '"  a"'),),
    "is_empty": (Example('is_empty("")', "true"), Example("is_empty([1])", "false")),
    "starts_with": (Example('starts_with("/docs/install", "/docs")', "true"),),
    "ends_with": (Example('ends_with("a.csv", ".csv")', "true"),),
    "contains": (Example('contains("/docs/install", "install")', "true"), Example("contains([1, 2], 3)", "false")),
    "replace": (Example('replace("a-b-c", "-", "+")', '"a+b+c"'),),
    "substring": (
        Example('substring("stream", 1, 3)', '"tre"'),
        Example('substring("stream", -1, 3)', fails=Failure.OUT_OF_RANGE),
    ),
    "split": (Example('split("a,b,", ",")', '["a", "b", ""]'), Example('split("a,b", "")', fails=Failure.BAD_PATTERN)),
    "split_part": (
        Example('split_part("a,b", ",", 1)', '"b"'),
        Example('split_part("a,b", ",", 2)', "null"),
        Example('split_part("a,b", ",", -1)', fails=Failure.OUT_OF_RANGE),
    ),
    "lines": (Example(r'lines("a\nb\n")', '["a", "b"]'),),
    "words": (Example('words(" to be  or ")', '["to", "be", "or"]'),),
    "concat": (Example('concat("a", "b", "c")', '"abc"'),),
    "join": (Example('join(["a", "b"], ", ")', '"a, b"'),),
    "reverse": (Example('reverse("abc")', '"cba"'),),
    "repeat": (Example('repeat("ab", 3)', '"ababab"'), Example('repeat("ab", -1)', fails=Failure.OUT_OF_RANGE)),
    "pad_start": (
        Example('pad_start("7", 3, "0")', '"007"'),
        Example('pad_start("7", 2000000, "0")', fails=Failure.OVERFLOW),
    ),
    "pad_end": (
        Example('pad_end("7", 3, ".")', '"7.."'),
        Example('pad_end("7", 2000000, "0")', fails=Failure.OVERFLOW),
    ),
    "index_of": (Example('index_of("abcabc", "c")', "2"), Example('index_of("abc", "x")', "-1")),
    "last_index_of": (Example('last_index_of("abcabc", "c")', "5"),),
    "count_of": (Example('count_of("banana", "an")', "2"),),
    "slice": (Example('slice("stream", 1, -1)', '"trea"'), Example("slice([1, 2, 3], 1)", "[2, 3]")),
    "left": (Example('left("stream", 3)', '"str"'), Example('left("stream", -1)', fails=Failure.OUT_OF_RANGE)),
    "right": (Example('right("stream", 3)', '"eam"'), Example('right("stream", -1)', fails=Failure.OUT_OF_RANGE)),
    "remove_prefix": (Example('remove_prefix("/docs/a", "/docs")', '"/a"'),),
    "remove_suffix": (Example('remove_suffix("a.csv", ".csv")', '"a"'),),
}
