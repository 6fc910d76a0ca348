"""The rules of the alarms: each takes connections and gives Alerts."""

from datetime import datetime, timedelta

from flows import has_failed, traffic

from ghcm import Pipeline, Record, agg, coalesce, fn, if_else, match_, sliding, tumbling

MINUTE = timedelta(minutes=1)


class Alert(Record):
    ts: datetime
    src: str
    dst: str
    port: int
    signature: str
    category: str
    severity: int  # 1 is the worst, as in Suricata
    origin: str  # "suricata" or the name of a rule below


@traffic.function
def asks_who(port: int) -> bool:
    """Whether one has to log in there: FTP, SSH, Telnet, mail, LDAP, SMB, databases, remote desktops."""
    return match_(port, {(21, 22, 23, 110, 143, 389, 445, 1433, 3306, 3389, 5432, 5900): True}, otherwise=False)


@traffic.function
def has_beat(latest: list[int]) -> bool:
    """Whether twelve moments, the latest first, have a beat: twice it lies between each and the next but one."""
    return keeps_beat(latest, (latest.get(0) + latest.get(1) - latest.get(10) - latest.get(11)) / 10)


@traffic.function
def keeps_beat(latest: list[int], twice: float) -> bool:
    return (twice >= 10000000.0) & latest.filter(lambda t: t > latest.get(10)).all(
        lambda t: fn.abs(t - latest.filter(lambda u: u < t).get(1) - twice) < twice / 10
    )


def port_scans(probes: Pipeline) -> Pipeline:
    """Port scan: one host tries ten ports or more of another in five minutes, and they do not answer."""
    return (
        probes.map_to_pair(lambda f: ((f.src, f.dst), f.only("begin", "port")))
        .window(tumbling("5m"))
        .aggregate_by_key(
            ts=agg.min(lambda value: value.begin),
            port=agg.first(lambda value: value.port),
            ports=agg.distinct_count(lambda value: value.port),
        )
        .filter(lambda s: s.value.ports >= 10)
        .map(
            lambda s: Alert(
                ts=coalesce(s.value.ts, s.window.start),
                src=s.key._1,
                dst=s.key._2,
                port=coalesce(s.value.port, 0),
                signature="Port scan: " + fn.to_string(s.value.ports) + " ports in five minutes",
                category="Reconnaissance",
                severity=2,
                origin="port_scan",
            )
        )
    )


def address_scans(probes: Pipeline) -> Pipeline:
    """Address scan: one host tries one port of ten hosts or more in five minutes, and they do not answer."""
    return (
        probes.map_to_pair(lambda f: ((f.src, f.port), f.only("begin", "dst")))
        .window(tumbling("5m"))
        .aggregate_by_key(
            ts=agg.min(lambda value: value.begin),
            dst=agg.first(lambda value: value.dst),
            hosts=agg.distinct_count(lambda value: value.dst),
        )
        .filter(lambda s: s.value.hosts >= 10)
        .map(
            lambda s: Alert(
                ts=coalesce(s.value.ts, s.window.start),
                src=s.key._1,
                dst=coalesce(s.value.dst, ""),
                port=s.key._2,
                signature="Address scan: " + fn.to_string(s.value.hosts) + " hosts in five minutes",
                category="Reconnaissance",
                severity=2,
                origin="address_scan",
            )
        )
    )


def floods(flows: Pipeline) -> Pipeline:
    """Flood: a port is asked for 500 connections or more in ten seconds, and most of them fail."""
    return (
        flows.map_to_pair(lambda f: ((f.dst, f.port), f.only("begin", "src", "outcome")))
        .window(tumbling("10s"))
        .aggregate_by_key(
            ts=agg.min(lambda value: value.begin),
            src=agg.first(lambda value: value.src),
            sources=agg.distinct_count(lambda value: value.src),
            flows=agg.count(),
            failed=agg.sum(lambda value: if_else(has_failed(value.outcome), 1, 0)),
        )
        .filter(lambda s: (s.value.flows >= 500) & (2 * coalesce(s.value.failed, 0) > s.value.flows))
        .map(
            lambda s: Alert(
                ts=coalesce(s.value.ts, s.window.start),
                src=coalesce(s.value.src, ""),
                dst=s.key._1,
                port=s.key._2,
                signature="Flood: "
                + fn.to_string(s.value.flows)
                + " connections from "
                + fn.to_string(s.value.sources)
                + " hosts in ten seconds",
                category="Denial of service",
                severity=1,
                origin="flood",
            )
        )
    )


def brute_forces(flows: Pipeline) -> Pipeline:
    """Brute force: one host opens 20 short connections or more a minute to a port where people log in."""
    return (
        flows.filter(lambda f: (f.proto == "tcp") & (f.outcome == "answered") & (f.sent < 10000) & asks_who(f.port))
        .map_to_pair(lambda f: ((f.src, f.dst, f.port), f.begin))
        .window(tumbling("60s"))
        .aggregate_by_key(ts=agg.min(lambda value: value), tries=agg.count())
        .filter(lambda s: s.value.tries >= 20)
        .map(
            lambda s: Alert(
                ts=coalesce(s.value.ts, s.window.start),
                src=s.key._1,
                dst=s.key._2,
                port=s.key._3,
                signature="Brute force: " + fn.to_string(s.value.tries) + " logins in a minute",
                category="Credential access",
                severity=1,
                origin="brute_force",
            )
        )
    )


def by_minute(of_hosts: Pipeline) -> Pipeline:
    """What each host sends in a minute."""
    return of_hosts.map_to_pair(lambda h: (h.host, h.sent)).window(tumbling("60s")).reduce_by_key(lambda a, b: a + b)


def by_half_hour(volumes: Pipeline) -> Pipeline:
    """The newest minute of each host beside the half hour that it ends."""
    return (
        volumes.map_to_pair(lambda v: (v.key, {"start": v.window.start, "bytes": v.value}))
        .window(sliding("30m", "1m"))
        .aggregate_by_key(
            minutes=agg.count(), bytes=agg.sum(lambda value: value.bytes), now=agg.last(lambda value: value)
        )
    )


def unusual_volumes(usual: Pipeline) -> Pipeline:
    """Unusual volume: in a minute a host sends more than 10 MB and ten times what it sends on average in the other
    minutes of half an hour; only of hosts that were seen in ten minutes of it.
    """
    return (
        usual.filter(lambda u: u.value.now.is_not_null() & u.value.bytes.is_not_null())
        .filter(
            lambda u: (
                (u.value.now.start + MINUTE == u.window.end)
                & (u.value.minutes >= 10)
                & (u.value.now.bytes > 10000000)
                & (u.value.now.bytes * (u.value.minutes - 1) > 10 * (u.value.bytes - u.value.now.bytes))
            )
        )
        .map(
            lambda u: Alert(
                ts=u.value.now.start,
                src=u.key,
                dst=u.key,
                port=0,
                signature="Unusual volume: " + fn.to_string(u.value.now.bytes // 1000000) + " MB sent in a minute",
                category="Exfiltration",
                severity=2,
                origin="unusual_volume",
            )
        )
    )


def calls_of_hosts(flows: Pipeline) -> Pipeline:
    """When one host has called a TCP port of another, the last twelve times in half an hour."""
    return (
        flows.filter(lambda f: f.proto == "tcp")
        .map_to_pair(lambda f: ((f.src, f.dst, f.port), fn.to_micros(f.begin)))
        .window(tumbling("30m"))
        .aggregate_by_key(calls=agg.count(), latest=agg.top_k(lambda value: value, 12))
    )


def beaconing_hosts(regular: Pipeline) -> Pipeline:
    """Beaconing: one host calls one TCP port of another twelve times or more in half an hour, the last twelve at a
    beat: from each call to the next but one (so that a retry does not hide it) it is equally long, within a
    tenth, and ten seconds or more.
    """
    return (
        regular.filter(lambda b: b.value.calls >= 12)
        .filter(lambda b: has_beat(b.value.latest))
        .map(
            lambda b: Alert(
                ts=fn.from_micros(b.value.latest.get(11)),
                src=b.key._1,
                dst=b.key._2,
                port=b.key._3,
                signature="Beaconing: " + fn.to_string(b.value.calls) + " calls at a beat",
                category="Command and control",
                severity=1,
                origin="beaconing",
            )
        )
    )
