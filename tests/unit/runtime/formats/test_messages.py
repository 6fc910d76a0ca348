"""Blocks of messages: each gives one record or one dead letter, whatever stands in its neighbours."""

from __future__ import annotations

import json
import random

import pytest

from ghcm.lowering.types import LINE
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.messages import Messages
from ghcm.spg.connectors import Format
from ghcm.types import Field, Int, Nullable, String, Struct

ROW = Struct((Field("n", Int()), Field("text", Nullable(String()), "the text")))
JSON, CSV, TEXT = Format("json"), Format("csv"), Format("text")


def decode(format_: Format, values: list[bytes | None], offsets: list[int]) -> tuple[list[Row], list[tuple[str, str]]]:
    """Rows, and place and raw text of dead letters."""
    dead: list[tuple[str, str]] = []

    def letter(_: object, detail: str, text: str) -> None:
        place, number, _why = detail.split(":", 2)
        dead.append((f"{place}:{number}", text))

    schema = LINE if format_ is TEXT else ROW
    batch = Messages(format_, schema).decode(values, offsets, "t/3", "p", letter)
    assert batch.partition == "p"
    return list(batch.rows()), dead


@pytest.mark.parametrize(
    ("format_", "good", "bad"),
    [
        (
            JSON,
            {b'{"n": 1}': (1, None), b'{\n  "n": 2,\r\n "the text": "a"\n}\n': (2, "a"), b' {"n":3}': (3, None)},
            [
                b"",
                b" ",
                b"\n",
                b"{",
                b'{"n": "x"}',
                b'{"n": 1}\n{"n": 2}',
                b'{"n": 1, "the text": "a\nb"}',
                b"\xff",
                None,
            ],
        ),
        (
            CSV,
            {
                b"1,a": (1, "a"),
                b'2,"a,""b"': (2, 'a,"b'),
                b'3,"a\nb"': (3, "a\nb"),
                b"4,": (4, None),
                b"5,x\r\n": (5, "x"),
            },
            [b"", b"\n", b"x,a", b"1", b"1,a\n2,b", b"1,a,b", b"1,\xff", None],
        ),
        (TEXT, {b"": ("",), b"a\nb": ("a\nb",), "ü\r".encode(): ("ü\r",), b'"': ('"',)}, [b"\xff", None]),
    ],
    ids=["json", "csv", "text"],
)
@pytest.mark.parametrize("size", [1, 5, 700])
def test_every_message_gives_one_thing(
    format_: Format, good: dict[bytes, Row], bad: list[bytes | None], size: int
) -> None:
    chance = random.Random(size)
    for badness in (0.0, 0.01, 0.5, 1.0):
        values = [chance.choice(bad) if chance.random() < badness else chance.choice(list(good)) for _ in range(size)]
        offsets = sorted(chance.sample(range(10 * size), size))
        rows, dead = decode(format_, values, offsets)
        pairs = list(zip(values, offsets, strict=True))
        found = [(offset, good[value]) for value, offset in pairs if value is not None and value in good]
        more = [("t/3", offset) if format_ is TEXT else () for offset, _ in found]
        assert rows == [(*row, *rest) for (_, row), rest in zip(found, more, strict=True)]
        lost = [(value, offset) for value, offset in pairs if value is None or value not in good]
        assert sorted(dead) == sorted((f"t/3:{at}", (value or b"").decode("utf-8", "replace")) for value, at in lost)


def test_an_open_quote_takes_nothing_of_the_next_message() -> None:
    for size in (3, 200):
        values: list[bytes | None] = [b"%d,a" % number for number in range(size)]
        values[1] = b'1,"open'
        rows, dead = decode(CSV, values, list(range(size)))
        assert rows == [(number, "open" if number == 1 else "a") for number in range(size)]
        assert dead == []


def test_what_lies_in_files_as_lines_lies_in_messages() -> None:
    values = [json.dumps({"n": number, "the text": "é" * (number % 3)}).encode() for number in range(1000)]
    rows, dead = decode(JSON, list(values), list(range(1000)))
    assert (rows, dead) == ([(number, "é" * (number % 3)) for number in range(1000)], [])
