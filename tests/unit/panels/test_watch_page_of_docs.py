"""docs/watch.md lists the kinds of panels as the table of kinds has them."""

from pathlib import Path

from ghcm.panels.panel import KINDS, OPTIONS

PAGE = (Path(__file__).parents[3] / "docs" / "watch.md").read_text(encoding="utf-8")


def test_every_kind_stands_there_with_its_options() -> None:
    for name, kind in KINDS.items():
        [row] = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
        _, needs, takes = (cell.split("`")[1::2] for cell in row.strip("|").split("|")[1:])
        assert (tuple(needs), tuple(takes)) == (kind.needs, kind.takes)


def test_every_option_is_named() -> None:
    assert [name for name in OPTIONS if f"`{name}`" not in PAGE] == []


def test_every_picture_is_there() -> None:
    folder = Path(__file__).parents[3] / "docs"
    named = {part.split(")")[0] for part in PAGE.split("](pictures/")[1:]}
    assert [name for name in named if not (folder / "pictures" / name).is_file()] == []
