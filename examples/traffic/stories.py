"""Attack chains in words: what the functions of traffic.istream say of a chain and of each of its steps, in Python."""

from datetime import timedelta

from flows import traffic
from steps import ChainStep, Path

from ghcm import fn, if_else, match_


@traffic.function
def several(n: int, what: str) -> str:
    return fn.to_string(n) + " " + what + if_else(n == 1, "", "s")


@traffic.function
def in_words(d: timedelta) -> str:
    return if_else(
        d < timedelta(minutes=2),
        several(d // timedelta(seconds=1), "second"),
        if_else(
            d < timedelta(hours=2),
            several(d // timedelta(minutes=1), "minute"),
            several(d // timedelta(hours=1), "hour"),
        ),
    )


@traffic.function
def when(s: ChainStep) -> str:
    return match_(
        s.after,
        {None: fn.format_time(s.at, "%Y-%m-%d %H:%M:%S")},
        otherwise=in_words(s.after) + " later, at " + fn.format_time(s.at, "%H:%M:%S"),
    )


@traffic.function
def deed(s: ChainStep) -> str:
    return if_else(
        s.returns,
        ", a victim itself, turns back on",
        if_else(s.position == 1, " attacks", ", a victim itself, goes on to"),
    )


@traffic.function
def told(s: ChainStep) -> str:
    return fn.join(
        [
            fn.to_string(s.position) + ".",
            when(s) + ":",
            s.attacker + deed(s),
            s.victim + ":",
            s.signature,
            "(severity " + fn.to_string(s.severity) + ", " + several(s.count, "alert") + ").",
        ],
        " ",
    )


@traffic.function
def rank_in_words(p: Path, alike: int) -> str:
    return (
        "Score "
        + fn.to_string(p.score)
        + " of "
        + several(fn.length(p.steps), "step")
        + ": 9 for each of severity 1, 3 for each of 2, 1 for each other."
        + if_else(alike == 1, "", " It stands for " + several(alike, "chain") + " over the same hosts.")
    )
