"""The queries of NEXMark that join, in the SQL of Flink, and a run of one in a Flink of a process of its own.

Flink has what its own benchmark of NEXMark gives it: batches of a second at most, objects that are used again, state on
the heap, a sink that takes everything and does nothing. It has two cores and a checkpoint every second.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

__all__ = ["java", "run"]

_RUNNER = Path(__file__).parent / "programs" / "FlinkSql.java"
_OPEN = ("java.lang", "java.util", "java.util.concurrent", "java.nio", "java.time")
_TABLES = {
    "people": "id BIGINT, name STRING, city STRING, state STRING",
    "auctions": "id BIGINT, item STRING, expires TIMESTAMP_LTZ(6), seller BIGINT, category BIGINT",
    "bids": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING",
}
_PLACED = """SELECT b.*, a.category FROM bids b JOIN auctions a
    ON b.auction = a.id AND b.moment BETWEEN a.moment AND a.expires"""
_TAKEN = {
    "q3": "id BIGINT, name STRING, city STRING, state STRING",
    "q4": "category BIGINT, price DOUBLE",
    "q8": "id BIGINT, name STRING, begins TIMESTAMP(3)",
    "q9": "auction BIGINT, bidder BIGINT, price BIGINT, moment TIMESTAMP_LTZ(3)",
    "q11": "bidder BIGINT, bids BIGINT, begins TIMESTAMP(3), ends TIMESTAMP(3)",
    "q20": "auction BIGINT, bidder BIGINT, price BIGINT, item STRING, seller BIGINT",
}
_SQL = {
    "q3": """SELECT a.id, p.name, p.city, p.state FROM auctions a JOIN people p ON a.seller = p.id
        WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    "q4": f"""SELECT category, AVG(CAST(price AS DOUBLE)) FROM (
        SELECT auction, category, MAX(price) AS price FROM ({_PLACED}) GROUP BY auction, category) GROUP BY category""",
    "q8": """SELECT p.id, p.name, p.window_start FROM (
        SELECT id, name, window_start, window_end FROM TUMBLE(TABLE people, DESCRIPTOR(moment), INTERVAL '10' SECOND)
        GROUP BY id, name, window_start, window_end) p JOIN (
        SELECT seller, window_start, window_end FROM TUMBLE(TABLE auctions, DESCRIPTOR(moment), INTERVAL '10' SECOND)
        GROUP BY seller, window_start, window_end) a
        ON p.id = a.seller AND p.window_start = a.window_start AND p.window_end = a.window_end""",
    "q9": f"""SELECT auction, bidder, price, moment FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, moment, bidder DESC) AS place
        FROM ({_PLACED})) WHERE place = 1""",
    "q11": """SELECT bidder, COUNT(*), window_start, window_end
        FROM SESSION(TABLE bids PARTITION BY bidder, DESCRIPTOR(moment), INTERVAL '10' SECOND)
        GROUP BY bidder, window_start, window_end""",
    "q20": """SELECT b.auction, b.bidder, b.price, a.item, a.seller FROM bids b JOIN auctions a ON b.auction = a.id
        WHERE a.category = 10""",
}


def java(flink: Path, more: str = "") -> list[str]:
    """What runs a program of Java with the classes of a Flink, and with those of one `more` folder."""
    opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in _OPEN]
    return ["java", *opened, "-cp", f"{flink / 'pyflink' / 'lib' / '*'}:{more}"]


def run(query: str, folder: Path, flink: Path) -> float:
    """Seconds that a job has taken over the files of a folder, without the start of Java and without planning. `flink`
    is where `pip install --no-deps --target FLINK apache-flink-libraries` has put it. RuntimeError if it fails.
    """
    script = folder / f"{query}.sql"
    script.write_text("\n;\n".join(_statements(query, folder)))
    command = [*java(flink), "-Xmx6g", str(_RUNNER), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Flink has failed in {query}: {done.stderr}")
    return int(done.stdout.split()[-1]) / 1000


def _statements(query: str, folder: Path) -> Sequence[str]:
    made = [
        f"""CREATE TABLE {name} ({columns}, `at` TIMESTAMP_LTZ(3), moment AS `at`,
            WATERMARK FOR moment AS moment - INTERVAL '4' SECOND) WITH ('connector' = 'filesystem', 'format' = 'json',
            'path' = '{(folder / f"{name}.jsonl").as_uri()}', 'json.timestamp-format.standard' = 'ISO-8601')"""
        for name, columns in _TABLES.items()
    ]
    taken = f"CREATE TABLE taken ({_TAKEN[query]}) WITH ('connector' = 'blackhole')"
    return [*made, taken, f"INSERT INTO taken {_SQL[query]}"]
