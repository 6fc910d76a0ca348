"""Record batches that another client writes are cut into what was written, whatever stands in them."""

from __future__ import annotations

import gzip
import json
import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import pyarrow as pa
import pytest
from kafka.record.default_records import DefaultRecordBatchBuilder

from ghcm.runtime.sources.kafka import cutting
from ghcm.runtime.sources.kafka.cutting import Cutter, Records
from ghcm.runtime.sources.kafka.record_batches import Unread, batches_of, committed
from ghcm.runtime.sources.kafka.texts import Texts, lines_of

_HEAD = 61
_ATTRIBUTES, _LAST_MS = 21, 35


@dataclass(frozen=True)
class Sent:
    offset: int
    time_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


def batch(sent: list[Sent], first: int = 0, attributes: int = 0, producer: int = -1) -> bytes:
    """A batch whose first offset is `first`; its records are compressed by the codec of the attributes."""
    builder: Any = cast("Any", DefaultRecordBatchBuilder)(2, 0, False, producer, 0, 0, 1 << 30)
    for each in sent:
        builder.append(each.offset - first, each.time_ms, each.key, each.value, list(each.headers))
    data = bytearray(builder.build())
    records = compressed(bytes(data[_HEAD:]), attributes & 7)
    data[_HEAD:] = records
    struct.pack_into(">qi", data, 0, first, len(data) - 12)
    struct.pack_into(">h", data, _ATTRIBUTES, attributes)
    return bytes(data)


def compressed(data: bytes, codec: int) -> bytes:
    arrow: Any = pa
    match codec:
        case 0:
            return data
        case 1:
            return gzip.compress(data, 1)
        case 2:
            parts = [arrow.compress(data[at : at + 500], "snappy", asbytes=True) for at in range(0, len(data), 500)]
            blocks = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
            return b"\x82SNAPPY\0\0\0\0\1\0\0\0\1" + blocks if len(parts) > 1 else parts[0]
        case _:
            return cast("bytes", arrow.compress(data, {3: "lz4", 4: "zstd"}[codec], asbytes=True))


def said(records: Records) -> list[Sent]:
    """The records, without headers, and without times and keys where nobody has asked for them."""
    count = len(records.offsets)
    times: list[int] = records.times.tolist() or [0] * count
    keys = Texts(records.data, records.keys) if len(records.keys.starts) else [None] * count
    return [Sent(*each) for each in zip(records.order(), times, keys, values_of(records), strict=True)]


def values_of(records: Records) -> list[bytes | None]:
    return list(Texts(records.data, records.values))


def some_value(chance: random.Random) -> bytes | None:
    """Text, zeros, numbers of Avro, a batch in a batch, nothing, ..."""
    match chance.randrange(7):
        case 0:
            return b'{"n": %d}' % chance.randrange(10**9)
        case 1:
            return bytes(chance.randrange(300))
        case 2:
            return chance.randbytes(chance.randrange(40))
        case 3:
            return bytes(chance.choices([0, 2, 12, 14, 128, 130], k=chance.randrange(200)))
        case 4:
            inner = [Sent(number, 0, None, b"x" * number) for number in range(chance.randrange(1, 9))]
            return batch(inner)[chance.choice([0, _HEAD]) :]
        case 5:
            return b"y" * chance.choice([0, 63, 64, 8191, 8192, 70_000])
        case _:
            return None


def some_records(chance: random.Random, first: int, count: int, *, gaps: bool) -> list[Sent]:
    sent: list[Sent] = []
    offset = first
    for _ in range(count):
        key = chance.choice([None, b"", b"k", b"\0\0", b"key" * 50])
        headers = (("h", b"\0"), ("i", None)) if chance.random() < 0.3 else ()
        time = 1_700_000_000_000 + chance.choice([0, 1, 5, -3, 10**9, -(10**10)])
        sent.append(Sent(offset, time, key, some_value(chance), headers))
        offset += chance.choice([1, 2, 900]) if gaps else 1
    return sent


def joined(values: Sequence[bytes | None]) -> bytes:
    return b"".join(b"%b\n" % each for each in values if each is not None)


def plain(sent: list[Sent]) -> list[Sent]:
    return [Sent(each.offset, each.time_ms, each.key, each.value) for each in sent]


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4], ids=["plain", "gzip", "snappy", "lz4", "zstd"])
def test_records_are_what_was_written(codec: int) -> None:
    cutter, first = Cutter(), 7
    for seed in range(8 if codec == 0 else 2):
        chance = random.Random(seed)
        sent, data = list[Sent](), b""
        for _ in range(chance.randrange(1, 5)):
            some = some_records(chance, first, chance.choice([1, 2, 40, 300]), gaps=seed % 2 == 0)
            sent, data = [*sent, *some], data + batch(some, first, codec)
            first = some[-1].offset + 1
        batches = list(batches_of(memoryview(data + batch(sent[:1], first)[:-1])))  # the last one is cut off
        assert [each.behind for each in batches][-1] == first
        records = cutter.cut(batches)
        assert said(records) == plain(sent)
        begin, end = sorted(chance.choices(sent, k=2), key=lambda each: each.offset)
        some = [each for each in sent if begin.offset <= each.offset < end.offset]
        assert said(records.between(begin.offset, end.offset)) == plain(some)
        good = [each for each in sent if each.value is not None]
        lines, values = lines_of(cutter.cut(batches)), [each.value for each in good]
        assert (None if lines is None else lines.content()) == (joined(values) if len(values) == len(sent) else None)
        if good:
            data = batch(good, good[0].offset)
            cut = cutter.cut(list(batches_of(memoryview(data))))
            made = lines_of(cut)
            assert made is not None
            assert made.content() == joined(values)
            assert said(cut) == plain(good)  # the lines have taken nothing of them


def some_object(chance: random.Random, longest: int) -> bytes:
    """Objects with others within, of all sizes, whose ends may be taken for other things."""
    texts = ["{", "}", "\x7f", "xx{}", "a" * chance.choice([1, 40, 60, longest])]
    return json.dumps({"n": chance.randrange(9), "of": {"s": chance.choice(texts), "t": {}}}).encode()


@pytest.mark.parametrize("odd", ["nothing", "key", "headers", "no object", "null", "gap", "empty"])
def test_objects_without_keys_are_cut_as_others_are(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    longest = 9000
    if odd in ("nothing", "empty"):
        longest = 8000
        monkeypatch.delattr(cutting, "records_in")  # it is not asked
    for seed in range(6):
        chance, sent, first = random.Random(seed), list[Sent](), 5
        where = chance.randrange(200)
        for size in (1, 40, 159):
            some = [Sent(first + at, 0, None, some_object(chance, longest)) for at in range(size)]
            sent, first = [*sent, *some], first + size
        changed: dict[str, Sent] = {
            "nothing": sent[where],
            "key": replace(sent[where], key=chance.choice([b"", b"k", sent[where].value])),
            "headers": replace(sent[where], headers=(("h", b"{}"),)),
            "no object": replace(sent[where], value=chance.choice([b"[{}]", b"", b"{", b"}\0{}"])),
            "null": replace(sent[where], key=chance.choice([None, sent[where].value]), value=None),
            "gap": replace(sent[where], value=sent[where].value),
            "empty": replace(sent[where], value=b"{}"),
        }
        sent[where] = changed[odd]
        if odd == "gap" and 1 < where < 199:
            del sent[where]
        data = b"".join(batch(some, some[0].offset) for some in (sent[:1], sent[1:41], sent[41:]))
        cut = Cutter(times=False).cut(list(batches_of(memoryview(data))))
        assert said(cut) == plain(sent)


@pytest.mark.parametrize("codec", [0, 3], ids=["plain", "lz4"])
def test_values_become_lines_where_they_stand(codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "_AT_ONCE", 2000)
    for seed in range(12):
        chance, first, sent, data = random.Random(seed), 5, list[Sent](), b""
        for size in (1, 3, 70, 30):
            key = chance.choice([None, b"", b"key", b"k" * 40])
            some = [Sent(first + at, 10**9 * at, key, some_object(chance, 300)) for at in range(size)]
            sent, data, first = [*sent, *some], data + batch(some, first, codec), first + size
        where, odd = chance.randrange(104), chance.choice(["nothing", "headers", "null", "long key", "tiny"])
        changed = {
            "headers": replace(sent[where], headers=(("h", b'{"}\n'),)),
            "null": replace(sent[where], value=None),
            "long key": replace(sent[where], key=b"k" * 100),
            "tiny": replace(sent[where], value=b"0"),
        }
        sent[where] = changed.get(odd, sent[where])
        data = b"".join(batch(some, some[0].offset, codec) for some in (sent[:1], sent[1:4], sent[4:74], sent[74:]))
        cut = Cutter(times=seed % 2 == 0, lines=True).cut(list(batches_of(memoryview(data))))
        values = [each.value for each in sent]
        assert values_of(cut) == values
        assert cut.as_lines == (odd not in ("null", "long key"))
        lines = lines_of(cut.between(sent[2].offset, sent[-2].offset))
        if odd == "null" and 2 <= where < 102:
            assert lines is None
            continue
        assert lines is not None
        assert lines.content() == joined(values[2:-2])
        if cut.as_lines:
            begin, end = int(lines.starts[0]), int(lines.ends[-1]) + 1
            texts = lines.memory[begin:end].tobytes().split(b"\n")
            assert [each.lstrip(b" ") for each in texts[:-1]] == values[2:-2]


def test_times_of_a_log_are_those_of_the_broker() -> None:
    data = bytearray(batch([Sent(0, 5, None, b"a"), Sent(1, 6, None, b"b")], attributes=0x08))
    struct.pack_into(">q", data, _LAST_MS, 99)
    plain = batch([Sent(2, 5, None, b"c")], first=2)
    records = Cutter().cut(list(batches_of(memoryview(bytes(data) + plain))))
    assert records.times.tolist() == [99, 99, 5]


def test_what_was_aborted_and_marks_are_left_out() -> None:
    transactional, control = 0x10, 0x30
    mark = [Sent(0, 0, b"\0\0\0\0", b"\0\0\0\0\0\0")]
    parts = [(0, transactional, 1), (1, transactional, 2), (2, 0, -1), (3, control, 1), (4, transactional, 1)]
    parts += [(5, control, 1), (6, control, 2), (7, transactional, 2)]
    data = b"".join(
        batch(
            [Sent(at, 0, mark[0].key, mark[0].value)] if kind == control else [Sent(at, 0, None, b"v")], at, kind, who
        )
        for at, kind, who in parts
    )
    batches = list(batches_of(memoryview(data)))
    assert [each.offset for each in committed(batches, [(1, 0)])] == [1, 2, 4, 7]
    assert [each.offset for each in committed(batches, [(2, 1), (1, 4)])] == [0, 2, 7]
    assert [each.offset for each in committed(batches, [])] == [0, 1, 2, 4, 7]


def test_what_is_damaged_is_refused_or_gives_records() -> None:
    chance = random.Random(5)
    good = bytearray(batch([Sent(number, 0, None, b'{"value": %d}' % number) for number in range(50)]))
    refused = 0
    for _ in range(300):
        data = bytearray(good)
        at = chance.randrange(_HEAD, len(data))
        data[at] ^= 1 << chance.randrange(8)
        try:
            records = Cutter(times=chance.random() < 0.5).cut(list(batches_of(memoryview(bytes(data)))))
            assert len(said(records)) == 50
        except Unread:
            refused += 1
    assert refused > 30
    for codec in (1, 2, 3, 4):
        data = bytearray(batch([Sent(0, 0, None, b"a" * 100)], attributes=codec))
        data[_HEAD : _HEAD + 8] = b"nonsense"
        with pytest.raises(Unread):
            Cutter().cut(list(batches_of(memoryview(bytes(data)))))


def test_older_versions_are_refused() -> None:
    data = bytearray(batch([Sent(0, 0, None, b"a")]))
    data[16] = 1
    with pytest.raises(Unread, match="version 1"):
        list(batches_of(memoryview(bytes(data))))
