"""Attack chains as one writes them by hand with Polars: the definition of `examples/traffic`, and its words."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl

__all__ = ["rebuild"]

KEY = ["attacker", "victim", "signature", "at"]
STEP = ["at", "until", "attacker", "victim", "signature", "category", "severity", "count"]
WAIT = pl.duration(hours=1)


def rebuild(folder: Path) -> None:
    """From `folder/out/alerts` to `folder/out/chains` and `folder/out/steps`."""
    found = steps_of(pl.read_parquet(folder / "out" / "alerts" / "*.parquet"))
    levels = grown(found, 8)
    chains = merged(pl.concat(level.select(levels[0].columns) for level in levels))
    steps = walked(chains, levels)
    told = chains.join(stories(steps), left_on="id", right_on="chain").with_columns(
        story=pl.concat_str("story", pl.lit("\n"), rank_in_words())
    )
    columns = ["id", "root", "begun", "until", "length", "worst", "score", "alike", "hosts", "story"]
    names = {"root": "attacker", "begun": "begin", "until": "end", "worst": "severity"}
    told = told.with_columns(hosts=pl.concat_list("hosts", "victim")).select(columns).rename(names)
    for name, rows in (("chains", told.sort("score", "begin", "id", descending=True)), ("steps", steps)):
        (folder / "out" / name).mkdir(parents=True, exist_ok=True)
        rows.write_parquet(folder / "out" / name / "part-0.parquet")


def steps_of(alerts: pl.DataFrame) -> pl.DataFrame:
    """Alerts of one signature between two hosts with pauses under a quarter of an hour as one step."""
    pair = ["src", "dst", "signature"]
    pauses = (
        alerts.filter(pl.col("src") != pl.col("dst"))
        .sort(*pair, "ts")
        .with_columns(opens=(pl.col("ts").diff().over(pair) >= pl.duration(minutes=15)).fill_null(True))
        .with_columns(session=pl.col("opens").cum_sum().over(pair))
    )
    return (
        pauses.group_by(*pair, "session")
        .agg(
            at=pl.col("ts").min(),
            until=pl.col("ts").max(),
            category=pl.col("category").min(),
            severity=pl.col("severity").min(),
            count=pl.len().cast(pl.Int64),
        )
        .rename({"src": "attacker", "dst": "victim"})
        .with_columns(
            open=pl.col("until") + WAIT,
            weight=pl.col("severity").replace_strict({1: 9, 2: 3}, default=1, return_dtype=pl.Int64),
        )
        .drop("session")
    )


def grown(found: pl.DataFrame, depth: int) -> list[pl.DataFrame]:
    """The best chains of one step, of two, of three, ..., by the step that they end in."""
    answers = found.join(
        found.select(victim="attacker", attacker="victim", since="at", open_until="open"), on=["attacker", "victim"]
    ).filter(pl.col("at") > pl.col("since"), pl.col("at") <= pl.col("open_until"))
    opening = found.join(answers, on=KEY, how="anti")
    level = with_id(opening.with_columns(before=pl.lit(""))).with_columns(
        score="weight",
        worst="severity",
        begun="at",
        root="attacker",
        hosts=pl.concat_list("attacker"),
        returns=False,
        after=pl.lit(None, pl.Duration("us")),
        length=pl.lit(1, pl.Int64),
    )
    levels = [level]
    while level.height and len(levels) < depth:
        before = level.filter(~pl.col("returns")).select(
            "score", "worst", "begun", "root", "hosts", "length",
            before="id", attacker="victim", at_before="at", open_before="open",
        )  # fmt: skip
        after = before.join(found, on="attacker").filter(
            pl.col("at") > pl.col("at_before"), pl.col("at") <= pl.col("open_before")
        )
        level = (
            with_id(after)
            .with_columns(
                score=pl.col("score") + pl.col("weight"),
                worst=pl.min_horizontal("worst", "severity"),
                returns=pl.col("hosts").list.contains(pl.col("victim")),
                hosts=pl.concat_list("hosts", "attacker"),
                after=pl.col("at") - pl.col("at_before"),
                length=pl.col("length") + 1,
            )
            .sort("score", "begun", "id", descending=True)
            .unique([*KEY, "returns"], keep="first")
        )
        levels.append(level)
    return levels


def with_id(rows: pl.DataFrame) -> pl.DataFrame:
    """The id of a chain: the digest of the one before and of its last step."""
    text = pl.concat_str(
        "before", "attacker", "victim", "signature", pl.col("at").dt.epoch("us").cast(pl.String), separator="|"
    )
    texts = rows.select(text).to_series()
    return rows.with_columns(id=pl.Series([hashlib.md5(each.encode()).hexdigest() for each in texts], dtype=pl.String))


def merged(chains: pl.DataFrame) -> pl.DataFrame:
    """The best chain for each last step, without those that go on, and of those over the same hosts the best."""
    ranked = chains.filter(pl.col("length") > 1).sort("score", "begun", "id", descending=True)
    ended = ranked.unique(KEY, keep="first", maintain_order=True)
    ended = ended.join(ended.select(id="before"), on="id", how="anti", maintain_order="left")
    alike = ended.group_by("hosts").agg(alike=pl.len().cast(pl.Int64))
    return ended.unique("hosts", keep="first").join(alike, on="hosts")


def walked(chains: pl.DataFrame, levels: list[pl.DataFrame]) -> pl.DataFrame:
    """The steps of the chains, from the last one back."""
    columns = ["chain", "position", *STEP, "after", "returns"]
    wanted = chains.select("id", chain="id")
    rows: list[pl.DataFrame] = []
    for level in reversed(levels):
        here = wanted.join(level, on="id")
        rows.append(here.with_columns(position="length").select(columns))
        rest = wanted.join(level, on="id", how="anti")
        wanted = pl.concat([rest, here.select("before", "chain").rename({"before": "id"})])
    return pl.concat(rows).sort("chain", "position")


def stories(steps: pl.DataFrame) -> pl.DataFrame:
    """A line for each step."""
    later = pl.concat_str(in_words(), pl.lit(" later, at "), pl.col("at").dt.strftime("%H:%M:%S"))
    when = pl.when(pl.col("after").is_null()).then(pl.col("at").dt.strftime("%Y-%m-%d %H:%M:%S")).otherwise(later)
    deed = (
        pl.when("returns")
        .then(pl.lit(", a victim itself, turns back on "))
        .when(pl.col("position") == 1)
        .then(pl.lit(" attacks "))
        .otherwise(pl.lit(", a victim itself, goes on to "))
    )
    line = pl.concat_str(
        pl.col("position").cast(pl.String), pl.lit(". "), when, pl.lit(": "), "attacker", deed, "victim", pl.lit(": "),
        "signature", pl.lit(" (severity "), pl.col("severity").cast(pl.String), pl.lit(", "),
        several(pl.col("count"), "alert"), pl.lit(")."),
    )  # fmt: skip
    return steps.with_columns(line=line).group_by("chain", maintain_order=True).agg(story=pl.col("line").str.join("\n"))


def in_words() -> pl.Expr:
    """The pause before a step."""
    seconds = pl.col("after").dt.total_seconds()
    return (
        pl.when(seconds < 120)
        .then(several(seconds, "second"))
        .when(seconds < 7200)
        .then(several(seconds // 60, "minute"))
        .otherwise(several(seconds // 3600, "hour"))
    )


def several(number: pl.Expr, what: str) -> pl.Expr:
    """A number of things."""
    return pl.concat_str(
        number.cast(pl.String), pl.lit(f" {what}"), pl.when(number == 1).then(pl.lit("")).otherwise(pl.lit("s"))
    )


def rank_in_words() -> pl.Expr:
    """Why a chain stands where it does."""
    alike = pl.concat_str(pl.lit(" It stands for "), several(pl.col("alike"), "chain"), pl.lit(" over the same hosts."))
    return pl.concat_str(
        pl.lit("Score "), pl.col("score").cast(pl.String), pl.lit(" of "), several(pl.col("length"), "step"),
        pl.lit(": 9 for each of severity 1, 3 for each of 2, 1 for each other."),
        pl.when(pl.col("alike") == 1).then(pl.lit("")).otherwise(alike),
    )  # fmt: skip
