"""WordCount by others, each in a process of its own so that none pays for another: a plain Python `Counter`, one pass
of Polars over files that are complete, and Spark's DataFrame batch.

Words are runs of ASCII letters in lower-cased text (`regex`), or what stands between blanks (`split`), as in the
programs that GHCM runs.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path

from bench.turns import processor_s

__all__ = ["counter", "polars", "spark"]

WORD = r"[a-z]+"


def counter(words: str, directory: Path) -> dict[str, float]:
    """One thread, line by line."""
    start, cpu = time.perf_counter(), processor_s()
    find, counts = re.compile(WORD).findall, Counter[str]()
    for path in sorted(directory.glob("*.txt")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                counts.update(find(line.lower()) if words == "regex" else line.removesuffix("\n").split(" "))
    taken = {"seconds": time.perf_counter() - start, "cpu": processor_s() - cpu}
    return {**taken, "words": counts.total(), "different": len(counts)}


def polars(words: str, directory: Path) -> dict[str, float]:
    """One lazy query, on all cores."""
    import polars as pl

    start, cpu = time.perf_counter(), processor_s()
    lines = pl.scan_csv(directory / "*.txt", has_header=False, separator="\1", quote_char=None, new_columns=["line"])
    line = pl.col("line")
    each = line.str.to_lowercase().str.extract_all(WORD) if words == "regex" else line.str.split(" ")
    found = lines.select(each.explode().alias("word"))
    counts = found.drop_nulls().group_by("word").len().collect(engine="streaming")
    taken = {"seconds": time.perf_counter() - start, "cpu": processor_s() - cpu}
    return {**taken, "words": int(counts["len"].sum()), "different": counts.height}


def spark(words: str, directory: Path) -> dict[str, float]:
    """DataFrame batch on all cores; the session is started and warmed before the clock is."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")

    def count() -> tuple[int, int]:
        each = (
            F.regexp_extract_all(F.lower("value"), F.lit(WORD), F.lit(0)) if words == "regex" else F.split("value", " ")
        )
        found = session.read.text(f"{directory}/*.txt").select(F.explode(each).alias("word"))
        counts = found.groupBy("word").count().collect()
        return sum(row["count"] for row in counts), len(counts)

    count()
    start, cpu = time.perf_counter(), processor_s()
    total, different = count()
    taken = {"seconds": time.perf_counter() - start, "cpu": processor_s() - cpu}
    session.stop()
    return {**taken, "words": total, "different": different}


if __name__ == "__main__":
    print(
        json.dumps({"counter": counter, "polars": polars, "spark": spark}[sys.argv[1]](sys.argv[2], Path(sys.argv[3])))
    )
