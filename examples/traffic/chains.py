"""Attack chains: the records, functions and words of traffic.istream in Python."""

from datetime import datetime, timedelta
from typing import Any

from flows import traffic
from rules import Alert

from ghcm import Pipeline, Record, agg, coalesce, fn, if_else, match_, session, union


class Step(Record):
    """What stands for the alerts of one signature from one host to another with pauses under a quarter of an hour."""

    at: datetime
    until: datetime
    attacker: str
    victim: str
    signature: str
    category: str
    severity: int
    count: int
    open: datetime  # so long what the victim does may go on from here


class ChainStep(Record):
    """A step in its chain."""

    chain: str  # the id of the chain
    position: int  # from 1
    at: datetime
    until: datetime
    attacker: str
    victim: str
    signature: str
    category: str
    severity: int
    count: int  # of alerts
    after: timedelta | None  # between the beginnings of the step before and of this one
    returns: bool  # its victim is in the chain already: the chain ends here


class Path(Record):
    """A chain while it grows: what its rank comes from, its hosts before the last victim, its steps."""

    id: str
    before: str  # the id of the chain without its last step
    score: int
    severity: int
    begun: datetime
    hosts: list[str]
    last: Step
    returns: bool
    fresh: bool  # of the latest round
    steps: list[ChainStep]


class Chain(Record):
    """Chains that lead over the same hosts, but for the last victim, are told by the best of them."""

    id: str
    attacker: str  # who begins it
    begin: datetime
    end: datetime
    length: int  # in steps
    severity: int  # of the worst step
    score: int
    alike: int  # how many chains it stands for
    hosts: list[str]
    story: str


@traffic.function
def signature_of(a: Alert) -> str:
    """Signatures of the rules end in figures, which differ from alert to alert."""
    return if_else(a.origin == "suricata", a.signature, coalesce(a.signature.split_part(":", 0), ""))


@traffic.function
def weight(severity: int) -> int:
    return match_(severity, {1: 9, 2: 3}, otherwise=1)


@traffic.function
def id_of(before: str, s: Step) -> str:
    return fn.md5(fn.join([before, s.attacker, s.victim, s.signature, fn.to_string(fn.to_micros(s.at))], "|"))


@traffic.function
def step_of(s: Step, position: int, after: timedelta | None, returns: bool) -> ChainStep:
    return ChainStep(
        chain="",
        position=position,
        at=s.at,
        until=s.until,
        attacker=s.attacker,
        victim=s.victim,
        signature=s.signature,
        category=s.category,
        severity=s.severity,
        count=s.count,
        after=after,
        returns=returns,
    )


@traffic.function
def follows(s: Step, before: Step) -> bool:
    """Whether a step comes while what its attacker has suffered is open."""
    return (s.at > before.at) & (s.at <= before.open)


@traffic.function
def end_of(p: Path) -> tuple[str, str, str, datetime]:
    """The step that a chain ends in."""
    return p.last.attacker, p.last.victim, p.last.signature, p.last.at


@traffic.function
def rank_of(p: Path) -> tuple[int, datetime, str]:
    """By what chains are ranked: the score; of equal ones the one that begins latest; the id settles the rest."""
    return p.score, p.begun, p.id


@traffic.function
def opened(s: Step) -> Path:
    return Path(
        id=id_of("", s),
        before="",
        score=weight(s.severity),
        severity=s.severity,
        begun=s.at,
        hosts=[s.attacker],
        last=s,
        returns=False,
        fresh=True,
        steps=[step_of(s, 1, None, False)],
    )


@traffic.function
def go_on(p: Path, s: Step) -> Path:
    returns = p.hosts.contains(s.victim)
    return Path(
        id=id_of(p.id, s),
        before=p.id,
        score=p.score + weight(s.severity),
        severity=fn.min(p.severity, s.severity),
        begun=p.begun,
        hosts=p.hosts + [s.attacker],
        last=s,
        returns=returns,
        fresh=True,
        steps=p.steps + [step_of(s, fn.length(p.steps) + 1, s.at - p.last.at, returns)],
    )


# ---------------------------------------------------------------------------------------------- words for them


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


@traffic.function
def chain_of(p: Path, alike: int) -> Chain:
    return Chain(
        id=p.id,
        attacker=p.hosts.get(0),
        begin=p.begun,
        end=p.last.until,
        length=fn.length(p.steps),
        severity=p.severity,
        score=p.score,
        alike=alike,
        hosts=p.hosts + [p.last.victim],
        story=fn.join(p.steps.map(lambda s: told(s)) + [rank_in_words(p, alike)], "\n"),
    )


# ---------------------------------------------------------------------------------------------- pipelines


def of_time(alerts: Pipeline, until: Any, history: Any) -> Pipeline:
    """The alerts between two hosts until then, so far back."""
    return alerts.filter(lambda a: (a.src != a.dst) & (a.src != "") & (a.dst != "")).filter(
        lambda a: until.is_null() | (a.ts <= until) & (a.ts > until - history)
    )


def condensed(recent: Pipeline, wait: Any) -> Pipeline:
    """Alerts as steps."""
    return (
        recent.event_time(lambda a: a.ts)
        .map_to_pair(lambda a: ((a.src, a.dst, signature_of(a)), a.only("ts", "category", "severity")))
        .window(session("15m"))
        .aggregate_by_key(
            at=agg.min(lambda value: value.ts),
            until=agg.max(lambda value: value.ts),
            category=agg.min(lambda value: value.category),
            severity=agg.min(lambda value: value.severity),
            count=agg.count(),
        )
        .map(
            lambda p: Step(
                at=p.value.at,
                until=p.value.until,
                attacker=p.key._1,
                victim=p.key._2,
                signature=p.key._3,
                category=p.value.category,
                severity=p.value.severity,
                count=p.value.count,
                open=p.value.until + wait,
            )
        )
    )


def unprovoked(found: Pipeline) -> Pipeline:
    """The steps that do not answer an attack: a chain begins with one of them."""
    return found.join(
        found, on=lambda s, e: (s.attacker == e.victim) & (s.victim == e.attacker) & follows(s, e), kind="anti"
    )


def grown(opening: Pipeline, found: Pipeline, depth: Any) -> Pipeline:
    """The best paths of each length for each step that they end in."""
    return opening.map(lambda s: opened(s)).iterate(
        lambda known: union(
            known.map(lambda p: p.with_(fresh=False)),
            known.filter(lambda p: p.fresh & ~p.returns)
            .join(found, on=lambda p, s: (p.last.victim == s.attacker) & follows(s, p.last))
            .map(lambda j: go_on(j.left, j.right))
            .map_to_pair(lambda p: ((end_of(p), p.returns), p))
            .aggregate_by_key(best=agg.last(lambda value: value, order=lambda p: rank_of(p)))
            .map(lambda p: p.value.best),
        ),
        until=lambda before, after: after.count() == before.count(),
        limit=depth - 1,
    )


def best_ended(paths: Pipeline) -> Pipeline:
    """Of the chains that end in one step the best."""
    return (
        paths.filter(lambda p: fn.length(p.steps) > 1)
        .map_to_pair(lambda p: (end_of(p), p))
        .aggregate_by_key(best=agg.last(lambda value: value, order=lambda p: rank_of(p)))
        .map(lambda p: p.value.best)
    )


def best_of_way(ended: Pipeline) -> Pipeline:
    """Those that no other continues, one for each way."""
    return (
        ended.join(ended, on=lambda p, q: p.id == q.before, kind="anti")
        .map_to_pair(lambda p: (p.hosts, p))
        .aggregate_by_key(alike=agg.count(), best=agg.last(lambda value: value, order=lambda p: rank_of(p)))
        .map(lambda p: p.value)
    )
