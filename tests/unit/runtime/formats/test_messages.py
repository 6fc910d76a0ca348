"""Blocks of messages: each gives one record or one dead letter, whatever stands in its neighbours."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from ghcm.formats.messages import PARTS, Message
from ghcm.lowering.types import LINE
from ghcm.runtime.data.batch import Batch
from ghcm.runtime.data.columns import Row
from ghcm.runtime.formats.messages import Block, Messages
from ghcm.spg.connectors import Format, Kafka
from ghcm.spg.reference.decoding import Bad
from ghcm.spg.reference.messages import records_of
from ghcm.types import Bytes, Field, Int, List, Map, Nullable, String, Struct, Timestamp, Type

ROW = Struct((Field("n", Int()), Field("text", Nullable(String()), "the text")))
JSON, CSV, TEXT, RAW = Format("json"), Format("csv"), Format("text"), Format("raw")


def decode(format_: Format, values: list[bytes | None], offsets: list[int]) -> tuple[list[Row], list[tuple[str, str]]]:
    """Rows, and place and raw text of dead letters."""
    dead: list[tuple[str, str]] = []

    def letter(_: object, detail: str, text: str) -> None:
        place, number, _why = detail.split(":", 2)
        dead.append((f"{place}:{number}", text))

    schema = LINE if format_ is TEXT else ROW
    batch = Messages(Kafka("t", format_), schema).decode(Block(values, offsets, "t/3", "p"), letter)
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
        for value in (b'1,"open', b'1,"open\n7,b', b'1,"open\n7,b"c'):
            values[1] = value
            rows, dead = decode(CSV, values, list(range(size)))
            assert rows == [(number, "a") for number in range(size) if number != 1]
            assert [text for _, text in dead] == [value.decode()]


def test_what_lies_in_files_as_lines_lies_in_messages() -> None:
    values = [json.dumps({"n": number, "the text": "é" * (number % 3)}).encode() for number in range(1000)]
    rows, dead = decode(JSON, list(values), list(range(1000)))
    assert (rows, dead) == ([(number, "é" * (number % 3)) for number in range(1000)], [])


KINDS: list[dict[str, Type]] = [
    {"key": String(), "timestamp": Timestamp(), "headers": Map(String(), String())},
    {"key": Bytes(), "headers": Map(String(), Bytes()), "origin": String(), "partition": Int(), "offset": Int()},
    {"key": Nullable(String()), "timestamp": Nullable(Timestamp()), "headers": Map(String(), Nullable(String()))},
    {"headers": List(Struct((Field("name", String()), Field("value", Nullable(Bytes()))))), "key": Nullable(Bytes())},
]


def some_message(chance: random.Random, badness: float) -> Message:
    """One of which any part may be what some types cannot hold."""

    def either(good: list[Any], bad: list[Any]) -> Any:
        return chance.choice(bad if chance.random() < badness else good)

    pairs = (("a", b"1"), ("b", "\u00fc".encode()), ("a", b""))
    return Message(
        either([b'{"n": 1}', b'{"n": 2, "the text": "a"}'], [b"", b"junk", b'{"n": "x"}', b"\xff", None]),
        either([b"", b"k", "\u00fc".encode()], [None, b"\xff"]),
        either([0, 1_700_000_000_000], [-1, 2**62]),
        either([(), pairs[:1], pairs], [(("x", None),), (("x", b"\xff"),)]),
    )


@pytest.mark.parametrize("types", KINDS, ids="-".join)
@pytest.mark.parametrize("value", [ROW.fields, (Field("body", Nullable(Bytes())),), (Field("body", String()),)])
@pytest.mark.parametrize("size", [1, 300])
def test_fields_hold_what_the_reference_says_of_messages(
    types: dict[str, Type], value: tuple[Field, ...], size: int
) -> None:
    """Behind the first field of the value, so that the order is that of the record; rows and columns are the same."""
    fields = tuple((word, f"of_{word}") for word in types)
    schema = Struct((value[0], *(Field(f"of_{word}", type_) for word, type_ in types.items()), *value[1:]))
    format_ = JSON if value == ROW.fields else RAW
    chance, connector = random.Random(size), Kafka("t", format_, fields=fields)
    for badness in (0.0, 0.01, 0.3):
        messages = [some_message(chance, badness) for _ in range(size)]
        raw: dict[str, list[Any]] = {
            "key": [each.key for each in messages],
            "timestamp": [each.time_ms for each in messages],
            "headers": [list(each.headers) or None for each in messages],
            "origin": ["t"] * size,
            "partition": [3] * size,
            "offset": list(range(size)),
            "deleted": [each.value is None for each in messages],
        }
        assert raw.keys() == PARTS.keys()
        letters: list[tuple[Any, str, str]] = []
        block = Block([each.value for each in messages], raw["offset"], "t/3", "p", raw)
        batch = Messages(connector, schema).decode(block, lambda *letter: letters.append(letter))  # noqa: B023
        found = list(records_of(messages, "t/3", connector, schema))
        assert list(batch.rows()) == [each for each in found if not isinstance(each, Bad)]
        assert Batch.from_frame(schema, batch.frame()).rows() == batch.rows()
        assert sorted(text for *_, text in letters) == sorted(each.text for each in found if isinstance(each, Bad))


def test_columns_of_values_and_of_parts_are_one_frame() -> None:
    schema = Struct((Field("key", String()), *ROW.fields, Field("at", Timestamp())))
    values = [b"%d,a" % number for number in range(1000)]
    raw: dict[str, list[Any]] = {"key": [b"k"] * 1000, "timestamp": list(range(1000))}
    values[7] = b"junk,"
    block = Block(values, range(1000), "t/3", "p", raw)
    connector = Kafka("t", CSV, fields=(("timestamp", "at"), ("key", "key")))
    batch = Messages(connector, schema).decode(block, lambda *_: None)
    assert batch.columnar
    assert list(batch.rows()) == [("k", number, "a", number * 1000) for number in range(1000) if number != 7]
