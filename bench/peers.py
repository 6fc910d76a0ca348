"""WordCount by others, each in a process of its own so that none pays for another: a plain Python `Counter`, one pass
of Polars over files that are complete, and Spark's DataFrame batch.

Words are runs of ASCII letters in lower-cased text, as in the program that GHCM runs.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path

__all__ = ["counter", "polars", "spark"]

WORD = r"[a-z]+"


def counter(directory: Path) -> dict[str, float]:
    """One thread, line by line."""
    start = time.perf_counter()
    find, counts = re.compile(WORD).findall, Counter[str]()
    for path in sorted(directory.glob("*.txt")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                counts.update(find(line.lower()))
    return {"seconds": time.perf_counter() - start, "words": counts.total(), "different": len(counts)}


def polars(directory: Path) -> dict[str, float]:
    """One lazy query, on all cores."""
    import polars as pl

    start = time.perf_counter()
    lines = pl.scan_csv(directory / "*.txt", has_header=False, separator="\1", quote_char=None, new_columns=["line"])
    words = lines.select(pl.col("line").str.to_lowercase().str.extract_all(WORD).explode().alias("word"))
    counts = words.drop_nulls().group_by("word").len().collect(engine="streaming")
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "words": int(counts["len"].sum()), "different": counts.height}


def spark(directory: Path) -> dict[str, float]:
    """DataFrame batch on all cores; the session is started and warmed before the clock is."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")

    def count() -> tuple[int, int]:
        words = session.read.text(f"{directory}/*.txt").select(
            F.explode(F.regexp_extract_all(F.lower("value"), F.lit(WORD), F.lit(0))).alias("word")
        )
        counts = words.groupBy("word").count().collect()
        return sum(row["count"] for row in counts), len(counts)

    count()
    start = time.perf_counter()
    total, different = count()
    seconds = time.perf_counter() - start
    session.stop()
    return {"seconds": seconds, "words": total, "different": different}


if __name__ == "__main__":
    print(json.dumps({"counter": counter, "polars": polars, "spark": spark}[sys.argv[1]](Path(sys.argv[2]))))
