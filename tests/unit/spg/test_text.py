"""The SPG as text: a text that uses all of the notation comes back, and mistakes are told with their place."""

from pathlib import Path

import pytest

from ghcm.spg.json import to_json
from ghcm.spg.text import parse_program, print_program

TEXT = (Path(__file__).parent / "notation.spg").read_text(encoding="utf-8")


def test_text_comes_back() -> None:
    program = parse_program(TEXT)
    printed = print_program(program)
    assert printed == TEXT
    assert parse_program(printed) == program
    assert to_json(parse_program(printed)) == to_json(program)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("= redis", "redis", 'line 8, column 13: expected "=", found "redis"'),
        ("tumbling(1000)", "tumbling(none)", "line 22, column 23"),
        ("> bounded named", "> named", 'expected "unbounded", found "named"'),
        ("to(", "towards(", "expected source or event_time"),
        ("stream monitor", "stram monitor", 'expected "record", "cache", "sink", "stream" or "batch", found "stram"'),
        ("f.bytes > 0", "f.bytes ! 0", "unexpected character '!'"),
        ("Flow>", "Flaw>", 'there is no type "Flaw"'),
    ],
)
def test_a_mistake_is_told_with_its_place(old: str, new: str, message: str) -> None:
    with pytest.raises(ValueError) as found:
        parse_program(TEXT.replace(old, new, 1))
    assert message in str(found.value)
