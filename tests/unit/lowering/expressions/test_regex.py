"""Regular expressions: one spelling on which Python and the engine of Polars (RE2's family) agree."""

import re
import warnings

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghcm.lowering.expressions.regex import BadPattern, canonical

TEXTS = ["", "a", "ab", "aab\n", "a.b", "é1", "x-y_z 9", "[a]", "$5", "\t\v", "AB12", "٣", "a\nb", "&&~|"]


@pytest.mark.parametrize(
    ("pattern", "spelt"),
    [
        ("abc", "abc"),
        (r"\d+", "[0-9]+"),
        (r"\W", "[^0-9A-Za-z_]"),
        ("a.b", r"a[^\n]b"),
        ("(a|b)*", "(?:a|b)*"),
        (r"^a\.b$", r"^a\.b$"),
        (r"\$5", r"\x245"),
        ("[$.&]", r"[\x24.\x26]"),
        (r"[\d\-x]", r"[0-9\-x]"),
        ("[^a-c]{2,3}?", "[^a-c]{2,3}?"),
        (r"\x41", "A"),
    ],
)
def test_the_one_spelling(pattern: str, spelt: str) -> None:
    assert canonical(pattern).text == spelt


@pytest.mark.parametrize(
    ("pattern", "position"),
    [
        ("a(?=b)", 1), ("(?<!a)b", 0), (r"(a)\1", 3), ("(?P<n>a)", 0), ("(?i)a", 0), ("(?>a)", 0), ("a++", 2),
        ("a**", 2), (r"a\b", 1), (r"a\Z", 1), (r"\p{L}", 0), (r"\u00e9", 0), ("[[a]]", 1), ("[]a]", 0), ("a{,3}", 1),
        ("a{3,2}", 1), ("a{2000}", 1), ("*a", 0), ("^*", 0), ("(a", 0), ("a)", 1), ("[a", 0), ("[z-a]", 1),
        (r"[\D]", 1), ("a\\", 1),
        ("}", 0), (r"[a-\d]", 3), (r"\v", 0), (r"\Q.\E", 0),
    ],
)  # fmt: skip
def test_what_engines_read_differently_is_refused(pattern: str, position: int) -> None:
    with pytest.raises(BadPattern) as refused:
        canonical(pattern)
    assert refused.value.position == position


@pytest.mark.parametrize(
    ("pattern", "empty"), [("a*", True), ("a+", False), ("(a|)", True), ("^$", True), ("a?b", False)]
)
def test_whether_a_pattern_may_match_nothing(pattern: str, empty: bool) -> None:
    assert canonical(pattern).empty is empty


def patterns() -> st.SearchStrategy[str]:
    char = st.sampled_from(["a", "b", "1", r"\.", "&", "~", "-", "é", "_", " ", r"\$", r"\[", "\n", "#"])
    item = st.one_of(char, st.sampled_from([r"\d", r"\w", r"\s", "a-c", "0-9", "é-ü"]))
    classes = st.tuples(st.sampled_from(["[", "[^"]), st.lists(item, min_size=1, max_size=3)).map(
        lambda t: t[0] + "".join(t[1]).replace(r"\d-", r"\d\-").replace(r"\w-", r"\w\-").replace(r"\s-", r"\s\-") + "]"
    )
    atom = st.one_of(char, classes, st.sampled_from([".", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S"]))

    def grow(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(parts, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "+?", "*?"])).map(
                lambda t: f"({t[0]}){t[1]}"
            ),
            st.tuples(parts, parts).map("".join),
            st.tuples(parts, parts).map(lambda t: f"(?:{t[0]}|{t[1]})"),
        )

    anchors = st.tuples(st.sampled_from(["", "^"]), st.recursive(atom, grow, max_leaves=6), st.sampled_from(["", "$"]))
    return anchors.map("".join)


@given(patterns(), st.lists(st.text(alphabet="ab1.é-_ $[]\n&~#\t٣", max_size=8)))
def test_engines_agree_on_what_is_accepted(pattern: str, texts: list[str]) -> None:
    try:
        read = canonical(pattern)
    except BadPattern:
        return
    subjects = [*TEXTS, *texts]
    python = re.compile(read.text.replace("$", r"\Z"))
    found = pl.Series(subjects).str.contains(read.text.replace("$", r"\z"), literal=False).to_list()
    assert [python.search(text) is not None for text in subjects] == found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # Python says that "&&" in a class may get a meaning one day
        as_written = re.compile(pattern.replace(r"\$", r"\x24").replace("$", r"\Z"), re.ASCII)
    assert [as_written.search(text) is not None for text in subjects] == found
    assert read.empty or not any(match.group() == "" for text in subjects for match in python.finditer(text))


@given(patterns(), st.lists(st.text(alphabet="ab1.é-_ $[]\n&~#\t٣", max_size=8)))
def test_engines_agree_on_all_matches(pattern: str, texts: list[str]) -> None:
    try:
        read = canonical(pattern)
    except BadPattern:
        return
    if read.empty:
        return
    python = re.compile(read.text.replace("$", r"\Z"))
    subjects = [*TEXTS, *texts]
    found = pl.Series(subjects).str.extract_all(read.text.replace("$", r"\z")).to_list()
    assert [python.findall(text) for text in subjects] == found
