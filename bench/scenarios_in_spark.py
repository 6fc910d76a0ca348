"""Attack chains as one writes them by hand with PySpark: the definition of `examples/traffic`, and its words. Three
programs, which differ in how they make chains of one step more.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

__all__ = ["WAYS", "rebuild"]

KEY = ["attacker", "victim", "signature", "at"]
RANK = "struct(score, begun, id)"


def rebuild(spark: SparkSession, folder: Path, way: str) -> None:
    """From `folder/out/alerts` to `folder/out/chains` and `folder/out/steps`."""
    found = steps_of(spark.read.parquet(f"{folder}/out/alerts")).cache()
    chains = merged(WAYS[way](found, 8)).cache()
    told = chains.selectExpr(
        "id", "hosts[0] AS attacker", "begun AS begin", "until AS end", "length", "worst AS severity", "score", "alike",
        "concat(hosts, array(victim)) AS hosts", "steps",
    )  # fmt: skip
    story = F.concat_ws("\n", F.transform("steps", told_step), rank_in_words())
    told = told.withColumn("story", story).drop("steps").orderBy(F.desc("score"), F.desc("begin"), F.desc("id"))
    told.write.mode("overwrite").parquet(f"{folder}/out/chains")
    steps = chains.selectExpr("id AS chain", "posexplode(steps) AS (place, step)")
    steps.selectExpr("chain", "place + 1L AS position", "step.*").write.mode("overwrite").parquet(f"{folder}/out/steps")
    spark.catalog.clearCache()


def steps_of(alerts: DataFrame) -> DataFrame:
    """Alerts of one signature between two hosts with pauses under a quarter of an hour as one step."""
    pair = Window.partitionBy("src", "dst", "signature").orderBy("ts")
    opens = F.coalesce(F.col("ts") - F.lag("ts").over(pair) >= F.expr("INTERVAL 15 MINUTES"), F.lit(True))
    return (
        alerts.where("src != dst")
        .withColumn("opens", opens)
        .withColumn("session", F.count_if("opens").over(pair))
        .groupBy(F.col("src").alias("attacker"), F.col("dst").alias("victim"), "signature", "session")
        .agg(
            F.min("ts").alias("at"),
            F.max("ts").alias("until"),
            F.min("category").alias("category"),
            F.min("severity").alias("severity"),
            F.count("*").alias("count"),
        )
        .drop("session")
        .withColumn("open", F.expr("until + INTERVAL 1 HOUR"))
        .withColumn("weight", F.expr("CASE severity WHEN 1 THEN 9L WHEN 2 THEN 3L ELSE 1L END"))
    )


STEP = (
    "'at', at, 'until', until, 'attacker', attacker, 'victim', victim, 'signature', signature, 'category', category, "
    "'severity', severity, 'count', count"
)
ENDS = [*KEY, "until", "open"]


def openings(found: DataFrame) -> DataFrame:
    """The chains of one step."""
    first, later = found.alias("first"), found.alias("later")
    turned = "first.attacker = later.victim AND first.victim = later.attacker"
    opening = later.join(first, F.expr(f"{turned} AND later.at > first.at AND later.at <= first.open"), "left_anti")
    opens, nothing = digest_of("''"), "CAST(NULL AS INTERVAL DAY TO SECOND)"
    return opening.selectExpr(
        *ENDS, f"{opens} AS id", "'' AS before", "1L AS length", "weight AS score", "severity AS worst",
        "at AS begun", "array(attacker) AS hosts", "false AS returns",
        f"array(named_struct({STEP}, 'after', {nothing}, 'returns', false)) AS steps",
    )  # fmt: skip


FOLLOWS = "p_victim = attacker AND at > p_at AND at <= p_open"


def longer(level: DataFrame, found: DataFrame) -> DataFrame:
    """Chains of one step more, of each that did not turn back."""
    before = level.where("NOT returns").selectExpr(*(f"{name} AS p_{name}" for name in level.columns))
    shared = "array_contains(p_hosts, victim)"
    return before.join(found, F.expr(FOLLOWS)).selectExpr(
        *ENDS, f"{digest_of('p_id')} AS id", "p_id AS before",
        "p_length + 1 AS length", "p_score + weight AS score",
        "least(p_worst, severity) AS worst", "p_begun AS begun", "concat(p_hosts, array(attacker)) AS hosts",
        f"{shared} AS returns",
        f"concat(p_steps, array(named_struct({STEP}, 'after', at - p_at, 'returns', {shared}))) AS steps",
    )  # fmt: skip


def best_of(chains: DataFrame) -> DataFrame:
    """Of the chains that end in one step, and turn back there or not, the best."""
    return chains.groupBy(*KEY, "returns").agg(F.expr(f"max_by(struct(*), {RANK})").alias("best")).select("best.*")


def ranked(chains: DataFrame) -> DataFrame:
    """The same by the rank of each."""
    by = Window.partitionBy(*KEY, "returns").orderBy(F.desc("score"), F.desc("begun"), F.desc("id"))
    return chains.withColumn("rank", F.row_number().over(by)).where("rank = 1").drop("rank")


def by_checkpoints(found: DataFrame, depth: int) -> DataFrame:
    """The best chains of one step, of two, of three, ..., each cut from its plan."""
    levels = [openings(found).localCheckpoint()]
    while len(levels) < depth and not levels[-1].isEmpty():
        levels.append(best_of(longer(levels[-1], found)).localCheckpoint())
    return united(levels)


def by_caches(found: DataFrame, depth: int) -> DataFrame:
    """The same, each cached, and chosen by rank."""
    levels = [openings(found).cache()]
    while len(levels) < depth and levels[-1].count():
        levels.append(ranked(longer(levels[-1], found)).cache())
    return united(levels)


def by_whole_state(found: DataFrame, depth: int) -> DataFrame:
    """As one writes a loop over everything: all chains so far, with a mark on those that are new."""
    state = openings(found).withColumn("fresh", F.lit(True)).localCheckpoint()
    for _ in range(depth - 1):
        fresh = state.where("fresh").drop("fresh")
        known = state.withColumn("fresh", F.lit(False))
        new = best_of(longer(fresh, found)).withColumn("fresh", F.lit(True))
        after = known.unionByName(new).localCheckpoint()
        ended, state = after.count() == state.count(), after
        if ended:
            break
    return state.drop("fresh")


WAYS: dict[str, Callable[[DataFrame, int], DataFrame]] = {
    "checkpoints": by_checkpoints,
    "caches": by_caches,
    "whole": by_whole_state,
}
"""The three programs."""


def united(levels: list[DataFrame]) -> DataFrame:
    """Several data frames as one."""
    everything = levels[0]
    for each in levels[1:]:
        everything = everything.unionByName(each)
    return everything


def digest_of(before: str) -> str:
    """The id of a chain: the digest of the one before and of its last step."""
    return f"md5(concat_ws('|', {before}, attacker, victim, signature, string(unix_micros(at))))"


def merged(chains: DataFrame) -> DataFrame:
    """The best chain for each last step, without those that go on, and of those over the same hosts the best."""
    best = F.expr(f"max_by(struct(*), {RANK})").alias("best")
    ended = chains.where("length > 1").groupBy(*KEY).agg(best).select("best.*").cache()
    ended = ended.join(ended.selectExpr("before AS id"), "id", "left_anti")
    return ended.groupBy(F.col("hosts").alias("way")).agg(best, F.count("*").alias("alike")).select("best.*", "alike")


def told_step(step: Column, place: Column) -> Column:
    """A line of the story."""
    micros = F.unix_micros(F.timestamp_micros(F.lit(0)) + step.after)
    seconds = F.floor(micros / 1_000_000)
    pause = (
        F.when(seconds < 120, several(seconds, "second"))
        .when(seconds < 7200, several(F.floor(seconds / 60), "minute"))
        .otherwise(several(F.floor(seconds / 3600), "hour"))
    )
    later = F.concat(pause, F.lit(" later, at "), F.date_format(step.at, "HH:mm:ss"))
    when = F.when(step.after.isNull(), F.date_format(step.at, "yyyy-MM-dd HH:mm:ss")).otherwise(later)
    deed = (
        F.when(step.returns, ", a victim itself, turns back on ")
        .when(place == 0, " attacks ")
        .otherwise(", a victim itself, goes on to ")
    )
    return F.concat(
        (place + 1).cast("string"), F.lit(". "), when, F.lit(": "), step.attacker, deed, step.victim, F.lit(": "),
        step.signature, F.lit(" (severity "), step.severity.cast("string"), F.lit(", "),
        several(step["count"], "alert"), F.lit(")."),
    )  # fmt: skip


def several(number: Column, what: str) -> Column:
    """A number of things."""
    return F.concat(number.cast("string"), F.lit(f" {what}"), F.when(number == 1, "").otherwise("s"))


def rank_in_words() -> Column:
    """Why a chain stands where it does."""
    alike = F.concat(F.lit(" It stands for "), several(F.col("alike"), "chain"), F.lit(" over the same hosts."))
    return F.concat(
        F.lit("Score "), F.col("score").cast("string"), F.lit(" of "), several(F.col("length"), "step"),
        F.lit(": 9 for each of severity 1, 3 for each of 2, 1 for each other."),
        F.when(F.col("alike") == 1, "").otherwise(alike),
    )  # fmt: skip
