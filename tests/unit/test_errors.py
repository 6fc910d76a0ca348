"""How a diagnostic is shown: the caret stands below what it points at, whatever the line holds."""

import pytest
from rich.cells import cell_len

from ghcm.errors import Diagnostic, fitting, render
from ghcm.source import Source, Span


def shown(text: str, wrong: str) -> tuple[str, str]:
    """The source line and the carets, both from where the line begins."""
    start = text.index(wrong)
    span = Span(Source("p.istream", text), start, start + len(wrong))
    _, _, _, line, carets = render(Diagnostic("GHCM-200", "m", span)).split("\n")
    return line.removeprefix(" 1 | "), carets.removeprefix("   | ")


@pytest.mark.parametrize(
    "text",
    [
        'x = "日本語" + wrong',
        'x = "🚀🚀" + wrong',
        "\t\tx = wrong",
        'x = "e\u0301" + wrong',
        "x = wrong",
        'x = "\x1b[2J" + wrong',
    ],
)
def test_carets_stand_below_in_columns_of_the_terminal(text: str) -> None:
    line, carets = shown(text, "wrong")
    assert cell_len(line.partition("wrong")[0]) == len(carets) - len("wrong")
    assert carets.strip() == "^^^^^"
    assert "\x1b" not in line


def test_wide_characters_get_two_carets_each() -> None:
    assert shown("x = 日本", "日本") == ("x = 日本", "    ^^^^")


def test_of_a_long_line_only_what_is_near_is_shown() -> None:
    line, carets = shown("a" * 5000 + " wrong " + "b" * 5000, "wrong")
    assert len(line) < 500
    assert line[carets.index("^") :].startswith("wrong")


@pytest.mark.parametrize(("before", "after"), [(0, 300), (300, 0), (150, 150), (0, 0), (2, 3)])
def test_an_excerpt_fits_the_terminal(before: int, after: int) -> None:
    for letter in "x日":
        text = letter * before + "wrong" + letter * after
        with fitting(60):
            line, carets = shown(text, "wrong")
        assert cell_len(" 1 | " + line) <= 60
        assert cell_len(line.partition("wrong")[0]) == len(carets) - len("wrong") and "wrong" in line
