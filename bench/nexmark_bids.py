"""The bids of NEXMark, made anew: the same for the same number of events, as JSON lines and as Parquet.

Of fifty events one is a person, three are auctions and the others bids, and only these are written, since the queries
that are measured read nothing else. As in the generator of Beam half of them go to a hot auction and three of four come
from a hot bidder, prices are even in their logarithm, and half the channels are four.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

__all__ = ["write"]

_AT_ONCE = 1_000_000
_OF, _AUCTIONS, _PEOPLE_FIRST = 50, 3, 4
_PER_S = 10_000
_BEGIN_MS = 1_767_225_600_000
_HOT = ("Google", "Facebook", "Baidu", "Apple")
_POOL = 10_000


def write(folder: Path, events: int) -> int:
    """Fill `folder/json` and `folder/parquet`; how many bids there are."""
    random = np.random.default_rng(42)
    urls, notes = _urls(random), _words(random, 5_000, 30, 90)
    bids = 0
    for kind in ("json", "parquet"):
        (folder / kind / "bids").mkdir(parents=True)
    for number, start in enumerate(range(0, events, _AT_ONCE)):
        frame = _bids(random, start, min(events, start + _AT_ONCE), urls, notes)
        frame.write_parquet(folder / "parquet" / "bids" / f"{number:03}.parquet")
        texts = frame.with_columns(pl.col("date_time").dt.strftime("%Y-%m-%d %H:%M:%S%.3f"))
        texts.write_ndjson(folder / "json" / "bids" / f"{number:03}.jsonl")
        bids += frame.height
    return bids


def _bids(random: np.random.Generator, start: int, end: int, urls: pl.Series, notes: pl.Series) -> pl.DataFrame:
    event = np.arange(start, end)
    event = event[event % _OF >= _PEOPLE_FIRST]
    count = len(event)
    last_auction, last_person = 1000 + event // _OF * _AUCTIONS + 2, 1000 + event // _OF
    cold_auction = np.maximum(1000, last_auction - random.integers(0, 100, count))
    auction = np.where(random.random(count) < 0.5, last_auction // 100 * 100, cold_auction)
    cold_bidder = np.maximum(1000, last_person - random.integers(0, 1000, count))
    bidder = np.where(random.random(count) < 0.75, last_person // 100 * 100 + 1, cold_bidder)
    price = (10 ** (random.random(count) * 6) * 100).astype(np.int64)
    channel = np.where(random.random(count) < 0.5, random.integers(0, 4, count), random.integers(4, _POOL, count))
    names = pl.Series([*_HOT, *(f"channel-{number}" for number in range(4, _POOL))])
    return pl.DataFrame(
        {
            "auction": auction,
            "bidder": bidder,
            "price": price,
            "channel": names.gather(channel),
            "url": urls.gather(channel),
            "date_time": pl.Series(_BEGIN_MS + event * 1000 // _PER_S).cast(pl.Datetime("ms", "UTC")),
            "extra": notes.gather(random.integers(0, len(notes), count)),
        }
    ).with_columns(pl.col("date_time").cast(pl.Datetime("us", "UTC")))


def _urls(random: np.random.Generator) -> pl.Series:
    """An address for each channel."""
    parts = [_words(random, _POOL, 5, 6) for _ in range(3)]
    found = pl.DataFrame([part.alias(str(number)) for number, part in enumerate(parts)]).with_row_index("n")
    text = pl.format("https://www.nexmark.com/{}/{}/{}/item.htm?query=1&channel_id={}", "0", "1", "2", "n")
    return found.select(text.alias("url")).to_series()


def _words(random: np.random.Generator, count: int, least: int, behind: int) -> pl.Series:
    letters = random.integers(97, 123, (count, behind), dtype=np.uint8)
    lengths = random.integers(least, behind, count)
    return pl.Series([bytes(row[:length]).decode() for row, length in zip(letters, lengths, strict=True)])
