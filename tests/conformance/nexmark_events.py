"""The people, auctions and bids of NEXMark, made anew for each number of events, and what DuckDB makes of them.

Of fifty events one is a person, three are auctions and the others bids. Half of the bids go to a hot auction, three of
four come from a hot bidder, and half of the channels are four. The events take ten minutes, however many they are.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import polars as pl

__all__ = ["ANSWERS", "answer", "write"]

_BEGIN_US, _SPAN_US = 1_767_225_300_000_000, 600_000_000
_OF, _AUCTIONS = 50, 3
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = ("Phoenix", "Los Angeles", "Boise", "Portland", "Bend", "Kent")
_HOT = ("Google", "Facebook", "Baidu", "Apple")
_CHANNELS = 60


def write(folder: Path, events: int, seed: int = 42) -> None:
    """Fill a folder with `people.jsonl`, `auctions.jsonl`, `bids.jsonl` and `side.csv`."""
    random, event = np.random.default_rng(seed), np.arange(events)
    at = pl.Series(_BEGIN_US + event * _SPAN_US // events).cast(pl.Datetime("us", "UTC"))
    kind = event % _OF
    _people(random, event[kind == 0], at.filter(pl.Series(kind == 0)), folder)
    sold = (kind >= 1) & (kind <= _AUCTIONS)
    _auctions(random, event[sold], at.filter(pl.Series(sold)), folder)
    _bids(random, event[kind > _AUCTIONS], at.filter(pl.Series(kind > _AUCTIONS)), folder)
    side = pl.DataFrame({"key": range(0, 100, 2), "value": [f"side {number}" for number in range(0, 100, 2)]})
    side.write_csv(folder / "side.csv")


def _put(frame: pl.DataFrame, path: Path) -> None:
    times = pl.col(pl.Datetime("us", "UTC")).dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
    frame.with_columns(times).write_ndjson(path)


def _people(random: np.random.Generator, event: np.ndarray, at: pl.Series, folder: Path) -> None:
    place, count = random.integers(0, len(_STATES), len(event)), len(event)
    columns = {
        "id": event // _OF,
        "name": [f"person {number}" for number in random.integers(0, count, count)],
        "city": pl.Series(_CITIES).gather(place),
        "state": pl.Series(_STATES).gather(place),
        "at": at,
    }
    _put(pl.DataFrame(columns), folder / "people.jsonl")


def _auctions(random: np.random.Generator, event: np.ndarray, at: pl.Series, folder: Path) -> None:
    count = len(event)
    columns = {
        "id": event // _OF * _AUCTIONS + event % _OF - 1,
        "item": [f"item {number}" for number in random.integers(0, 1000, count)],
        "initial": random.integers(1, 1000, count),
        "reserve": random.integers(1000, 9000, count),
        "at": at,
        "expires": at + pl.Series(random.integers(1, 60_000_000, count)).cast(pl.Duration("us")),
        "seller": np.maximum(0, event // _OF - random.integers(0, 20, count)),
        "category": 10 + random.integers(0, 5, count),
    }
    _put(pl.DataFrame(columns), folder / "auctions.jsonl")


def _bids(random: np.random.Generator, event: np.ndarray, at: pl.Series, folder: Path) -> None:
    count, last = len(event), event // _OF * _AUCTIONS + 2
    cold = np.maximum(0, last - random.integers(0, 100, count))
    bidder = np.maximum(0, event // _OF - random.integers(0, 100, count))
    channel = np.where(random.random(count) < 0.5, random.integers(0, 4, count), random.integers(4, _CHANNELS, count))
    names = pl.Series([*_HOT, *(f"channel-{number}" for number in range(4, _CHANNELS))])
    address = pl.Series(
        [f"https://a.b/{n}/c/item.htm?query=1" + (f"&channel_id={n * 7}" if n % 3 else "") for n in range(_CHANNELS)]
    )
    columns = {
        "auction": np.where(random.random(count) < 0.5, last // 10 * 10, cold),
        "bidder": np.where(random.random(count) < 0.75, event // _OF // 10 * 10, bidder),
        "price": (10 ** (random.random(count) * 4) * 100).astype(np.int64),
        "channel": names.gather(channel),
        "url": address.gather(channel),
        "at": at,
    }
    _put(pl.DataFrame(columns), folder / "bids.jsonl")


_PLACED = """placed AS (SELECT b.*, a.category, a.seller, a.expires FROM bids b JOIN auctions a ON b.auction = a.id
    WHERE b.moment BETWEEN a.moment AND a.expires)"""
_COUNTS = """count(*), count(*) FILTER (price < 10000), count(DISTINCT bidder),
    count(DISTINCT bidder) FILTER (price < 10000), count(DISTINCT auction)"""
_DAY = "moment::DATE - DATE '1970-01-01'"

ANSWERS = {
    "q3": """SELECT a.id, p.name, p.city, p.state FROM auctions a JOIN people p ON a.seller = p.id
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    "q4": f"""WITH {_PLACED}, closed AS (SELECT auction, category, max(price) AS price FROM placed GROUP BY ALL)
        SELECT category, avg(price) FROM closed GROUP BY ALL""",
    "q6": f"""WITH {_PLACED},
        closed AS (SELECT auction, seller, expires, max(price) AS price FROM placed GROUP BY ALL),
        last AS (SELECT * FROM closed
            QUALIFY row_number() OVER (PARTITION BY seller ORDER BY expires DESC, auction DESC) <= 10)
        SELECT seller, avg(price) FROM last GROUP BY ALL""",
    "q8": """SELECT DISTINCT p.id, p.name, epoch_us(time_bucket(INTERVAL 10 SECOND, p.moment))
        FROM people p JOIN auctions a ON p.id = a.seller
        AND time_bucket(INTERVAL 10 SECOND, p.moment) = time_bucket(INTERVAL 10 SECOND, a.moment)""",
    "q9": f"""WITH {_PLACED} SELECT auction, bidder, price, epoch_us(moment) FROM placed
        QUALIFY row_number() OVER (PARTITION BY auction ORDER BY price DESC, moment, bidder DESC) = 1""",
    "q11": """WITH apart AS (SELECT *, coalesce(moment - lag(moment) OVER mine >= INTERVAL 10 SECOND, true) AS begins
            FROM bids WINDOW mine AS (PARTITION BY bidder ORDER BY moment)),
        numbered AS (SELECT *, sum(begins::INT) OVER (PARTITION BY bidder ORDER BY moment) AS visit FROM apart)
        SELECT bidder, count(*), epoch_us(min(moment)), epoch_us(max(moment)) + 10000000 FROM numbered
        GROUP BY bidder, visit""",
    "q13": "SELECT auction, bidder, price, value FROM bids JOIN side ON auction % 100 = key",
    "q15": f"SELECT {_DAY}, {_COUNTS} FROM bids GROUP BY {_DAY}",
    "q16": f"SELECT channel, {_DAY}, {_COUNTS}, epoch_us(max(moment)) FROM bids GROUP BY channel, {_DAY}",
    "q18": """SELECT auction, bidder, price, channel, url, epoch_us(moment) FROM bids QUALIFY row_number() OVER
        (PARTITION BY bidder, auction ORDER BY moment DESC, price DESC, channel DESC, url DESC) = 1""",
    "q19": """SELECT auction, bidder, price, epoch_us(moment) FROM bids QUALIFY row_number() OVER
        (PARTITION BY auction ORDER BY price DESC, moment DESC, bidder DESC) <= 10""",
    "q20": """SELECT b.auction, b.bidder, b.price, a.item, a.seller FROM bids b JOIN auctions a ON b.auction = a.id
        WHERE a.category = 10""",
    "q21": """WITH found AS (SELECT auction, bidder, channel, CASE lower(channel) WHEN 'apple' THEN '0'
            WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3'
            ELSE CASE WHEN regexp_matches(url, '(&|^|[?])channel_id=[^&]*')
                THEN regexp_extract(url, '(&|^|[?])channel_id=([^&]*)', 2) END END AS id FROM bids)
        SELECT * FROM found WHERE id IS NOT NULL""",
}
"""By query what it gives, in SQL over `people`, `auctions`, `bids` and `side`; times are microseconds, days numbers.
`moment` is the field "at", which is a word of SQL.
"""


def answer(query: str, folder: Path) -> list[tuple[object, ...]]:
    """What DuckDB gives for a query over the files of a folder."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name in ("people", "auctions", "bids"):
            expires = "REPLACE (expires::TIMESTAMP AS expires)" if name == "auctions" else ""
            told = f"""SELECT * EXCLUDE ("at") {expires}, "at"::TIMESTAMP AS moment
                FROM read_json_auto('{folder}/{name}.jsonl')"""
            connection.execute(f"CREATE VIEW {name} AS {told}")
        connection.execute(f"CREATE VIEW side AS SELECT * FROM read_csv('{folder}/side.csv')")
        return connection.execute(ANSWERS[query]).fetchall()
