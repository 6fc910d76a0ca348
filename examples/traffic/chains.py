"""Attack chains: how they begin, grow and are ranked, as in traffic.istream."""

from datetime import datetime, timedelta
from typing import Any

from flows import traffic
from rules import Alert
from steps import Chain, ChainStep, Path, Step
from stories import rank_in_words, told

from ghcm import Pipeline, agg, coalesce, fn, if_else, match_, session, union


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
