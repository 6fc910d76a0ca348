"""Cases of strings."""

from __future__ import annotations

from ghcm.signatures import FLOAT, INT, STRING
from ghcm.types import INT_MAX, INT_MIN, List, Nullable
from tests.conformance.functions.case import Case, case
from tests.conformance.functions.maps import MAPS

__all__ = ["CASES"]

TEXTS = ("", "a", "ab", "é", "e\u0301x", "😀y😀", "日本語", "x" * 300, None)
LINES = (
    "",
    "\n",
    "\r\n",
    "a\r",
    "a\r\nb\n",
    "\n\n",
    "a b\tc\x0bd\x0ce",
    "\x1c\x85\u2028x",
    " \t",
    "e\u0301\u0302",
    "🇩🇪",
    None,
)
PLACES = (0, 1, 2, 4, -1, -2, -5, INT_MAX, INT_MIN, None)
PARTS = ("", "a", "aa", "aaa", "aaaa", "😀", "a😀a😀a", "😀a", "ab", "abab", None)

CASES: tuple[Case, ...] = (
    case("length", STRING), case("length", List(INT)), case("lower", STRING), case("upper", STRING), case("trim", STRING),
    case("initcap", STRING, values=(("", "a", "ada LOVELACE-king", " \t x  y\r\nz ", "ß ßa", "İa ǆ ŉ", "ΑΣ ΣΑ Σ", "😀a é", "\x1ca\x85b\u2028c\xa0d", "1a", None),)),
    *(case(name, STRING, STRING) for name in ("starts_with", "ends_with", "contains", "split", "levenshtein")),
    case("contains", List(INT), INT), case("contains", List(STRING), STRING), case("contains", List(FLOAT), FLOAT),
    case("replace", STRING, STRING, STRING), case("substring", STRING, INT, INT),
    *(case(name, STRING) for name in ("trim_start", "trim_end", "is_empty", "lines", "words", "reverse")),
    *(case(name, STRING, STRING) for name in ("trim", "trim_start", "trim_end", "concat", "index_of", "last_index_of", "count_of", "remove_prefix", "remove_suffix")),
    *(case(name, STRING, values=(LINES,)) for name in ("lines", "words", "reverse", "trim")),
    case("concat", STRING, STRING, STRING),
    case("split_part", STRING, STRING, INT, values=(("a,b,,c", "", ",", "ab", "aXbX", "é,😀", None), (",", "X", "", ",,", "😀", None), (0, 1, 3, -1, INT_MAX, INT_MIN, None))),
    case("join", List(STRING), STRING),
    case("repeat", STRING, INT, values=(TEXTS, (0, 1, 3, -1, 2**20, 2**20 // 2 + 1, INT_MAX, INT_MIN, None))),
    *(case(name, STRING, INT, STRING, values=(TEXTS, (0, 3, 7, -1, 2**20 + 1, INT_MAX, INT_MIN, None), ("", " ", "ab", "😀e", None))) for name in ("pad_start", "pad_end")),
    case("pad_start", STRING, INT, STRING, values=(("a",), (2**20,), ("xy",))),
    *(case(name, STRING, INT, values=(TEXTS, PLACES)) for name in ("left", "right", "slice")),
    case("slice", STRING, INT, INT, values=(TEXTS, PLACES, PLACES)),
    case("slice", List(INT), INT, values=(([], [1], [1, 2, 3], None), PLACES)),
    case("slice", List(STRING), INT, INT, values=(([], ["a"], ["a", "b", "c"], None), PLACES, PLACES)),
    *(case(name, STRING, STRING, values=(PARTS, PARTS)) for name in ("index_of", "last_index_of", "count_of", "remove_prefix")),
    *(case(name, type_, values=(values,)) for name in ("length", "is_empty") for type_, values in MAPS.items()),
    case("is_empty", List(INT)), case("is_empty", List(Nullable(INT))), case("is_empty", List(STRING)),
)  # fmt: skip
