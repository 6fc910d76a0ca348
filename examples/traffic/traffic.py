"""The program of traffic.istream in Python: the same names, the same graph."""

from datetime import datetime, timedelta

from ghcm import (
    Program,
    Record,
    agg,
    at,
    coalesce,
    files,
    fn,
    if_else,
    match_,
    parquet,
    sliding,
    socket,
    try_,
    tumbling,
    union,
)

traffic = Program("traffic")

NOTHING = timedelta(0)
MINUTE = timedelta(minutes=1)

# ---------------------------------------------------------------------------------------------- what comes in


class ZeekConn(Record):
    """A line of Zeek's conn.log, as TSV or as JSON."""

    ts: datetime
    src: str = at("id.orig_h")
    dst: str = at("id.resp_h")
    port: int = at("id.resp_p")
    proto: str
    service: str | None
    duration: timedelta | None
    orig_bytes: int | None
    resp_bytes: int | None
    conn_state: str
    orig_pkts: int | None
    resp_pkts: int | None


class ArgusFlow(Record):
    """A line of Argus: ra -u -c , -s stime dur proto saddr sport dir daddr dport state pkts bytes sbytes."""

    ts: datetime = at("StartTime")
    duration: timedelta = at("Dur")
    proto: str = at("Proto")
    src: str = at("SrcAddr")
    dst: str = at("DstAddr")
    port: str | None = at("Dport")
    state: str | None = at("State")
    packets: int = at("TotPkts")
    bytes: int = at("TotBytes")
    sent: int = at("SrcBytes")


class EveAlert(Record):
    """An alert of Suricata in eve.json."""

    ts: datetime = at("timestamp")
    event: str = at("event_type")
    src: str = at("src_ip")
    dst: str = at("dest_ip")
    port: int | None = at("dest_port")
    signature: str | None = at("alert.signature")
    category: str | None = at("alert.category")
    severity: int | None = at("alert.severity")


class Server(Record):
    """A server that the people on watch want to know about, of servers.csv."""

    server: str
    port: int
    name: str
    slow_after: timedelta


# ---------------------------------------------------------------------------------------------- what is kept


class Flow(Record):
    """A connection, from whatever source. Its event time is its end, when all of it is known."""

    begin: datetime
    end: datetime
    src: str
    dst: str
    port: int
    proto: str
    service: str | None
    duration: timedelta
    sent: int  # bytes from src to dst
    received: int  # bytes from dst to src
    packets: int  # both ways
    outcome: str  # answered, refused, unanswered or unknown


class Throughput(Record):
    start: datetime
    flows: int
    packets: int
    bytes: int


class ProtocolShare(Record):
    start: datetime
    proto: str
    flows: int
    bytes: int
    share: float


class HostTraffic(Record):
    start: datetime
    host: str
    flows: int
    packets: int
    bytes: int
    sent: int


class PairTraffic(Record):
    start: datetime
    src: str
    dst: str
    flows: int
    packets: int
    bytes: int
    sent: int


class ServerState(Record):
    start: datetime
    name: str
    server: str
    port: int
    flows: int
    failed: int
    seconds: float | None  # mean duration of what was answered
    state: str  # up, slow or failing


class NewHost(Record):
    host: str
    since: datetime


class Alert(Record):
    ts: datetime
    src: str
    dst: str
    port: int
    signature: str
    category: str
    severity: int  # 1 is the worst, as in Suricata
    origin: str  # "suricata" or the name of a rule below


throughput = traffic.sink(parquet("out/throughput", mode="append"))
protocols = traffic.sink(parquet("out/protocols", mode="append"))
hosts = traffic.sink(parquet("out/hosts", mode="append"))
pairs = traffic.sink(parquet("out/pairs", mode="append"))
servers = traffic.sink(parquet("out/servers", mode="append"))
new_hosts = traffic.sink(parquet("out/new_hosts", mode="append"))
alerts = traffic.sink(parquet("out/alerts", mode="append"))

# ---------------------------------------------------------------------------------------------- one meaning of state


@traffic.function
def outcome_of_zeek(state: str) -> str:
    return match_(
        state,
        {
            ("SF", "S1", "S2", "S3", "RSTO", "RSTR"): "answered",
            ("REJ", "RSTRH"): "refused",
            ("S0", "SH", "RSTOS0"): "unanswered",
        },
        otherwise="unknown",
    )


@traffic.function
def outcome_of_argus(state: str | None) -> str:
    """Flags of both sides behind TCP, such as FSPA_FSPA; CON and INT are both and one way."""
    return match_(
        state,
        {
            None: "unknown",
            ("CON", "ACC", "EST", "CLO", "FIN"): "answered",
            ("RST", "S_R", "S_RA"): "refused",
            ("INT", "REQ", "TIM", "S_"): "unanswered",
        },
        otherwise=if_else(fn.matches(state, "^[A-Z]*S[A-Z]*_[A-Z]*S[A-Z]*$"), "answered", "unknown"),
    )


@traffic.function
def flow_of_zeek(c: ZeekConn) -> Flow:
    return Flow(
        begin=c.ts,
        end=c.ts + coalesce(c.duration, NOTHING),
        src=c.src,
        dst=c.dst,
        port=c.port,
        proto=c.proto,
        service=c.service,
        duration=coalesce(c.duration, NOTHING),
        sent=coalesce(c.orig_bytes, 0),
        received=coalesce(c.resp_bytes, 0),
        packets=coalesce(c.orig_pkts, 0) + coalesce(c.resp_pkts, 0),
        outcome=outcome_of_zeek(c.conn_state),
    )


@traffic.function
def flow_of_argus(a: ArgusFlow) -> Flow:
    return Flow(
        begin=a.ts,
        end=a.ts + a.duration,
        src=a.src,
        dst=a.dst,
        port=coalesce(try_(fn.to_int(a.port)), 0),
        proto=a.proto,
        service=None,
        duration=a.duration,
        sent=a.sent,
        received=a.bytes - a.sent,
        packets=a.packets,
        outcome=outcome_of_argus(a.state),
    )


@traffic.function
def has_failed(outcome: str) -> bool:
    return (outcome == "unanswered") | (outcome == "refused")


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


# ---------------------------------------------------------------------------------------------- the live unit


@traffic.stream
def monitor() -> None:
    # --- sources, each made into Flows; what comes in late by more than its disorder is a dead letter

    zeek = (
        files("in/zeek", format="zeek", clock="continues")
        .as_(ZeekConn)
        .map(lambda c: flow_of_zeek(c))
        .event_time(lambda f: f.end, disorder="5m")
    )
    json = (
        files("in/json", format="json", clock="continues")
        .as_(ZeekConn)
        .map(lambda c: flow_of_zeek(c))
        .event_time(lambda f: f.end, disorder="5m")
    )
    argus = (
        files("in/argus", format="csv", clock="continues")
        .as_(ArgusFlow)
        .map(lambda a: flow_of_argus(a))
        .event_time(lambda f: f.end, disorder="5m")
    )
    live = (
        socket("127.0.0.1:4747", format="json")
        .as_(ZeekConn)
        .map(lambda c: flow_of_zeek(c))
        .event_time(lambda f: f.end, disorder="10s")
    )

    flows = union(zeek, json, argus, live)

    # --- statistics of ten seconds

    of_protocols = (
        flows.map_to_pair(lambda f: (f.proto, {"packets": f.packets, "bytes": f.sent + f.received}))
        .window(tumbling("10s"))
        .aggregate_by_key(
            flows=agg.count(),
            packets=agg.sum(lambda value: value.packets),
            bytes=agg.sum(lambda value: value.bytes),
        )
    )
    totals = (
        of_protocols.map_to_pair(
            lambda p: (
                p.window.start,
                {
                    "proto": p.key,
                    "flows": p.value.flows,
                    "packets": coalesce(p.value.packets, 0),
                    "bytes": coalesce(p.value.bytes, 0),
                },
            )
        )
        .window(tumbling("10s"))
        .aggregate_by_key(
            flows=agg.sum(lambda value: value.flows),
            packets=agg.sum(lambda value: value.packets),
            bytes=agg.sum(lambda value: value.bytes),
            parts=agg.collect(lambda value: value),
        )
        .map(
            lambda t: {
                "start": t.key,
                "flows": coalesce(t.value.flows, 0),
                "packets": coalesce(t.value.packets, 0),
                "bytes": coalesce(t.value.bytes, 0),
                "parts": t.value.parts,
            }
        )
    )
    totals.map(lambda t: Throughput(start=t.start, flows=t.flows, packets=t.packets, bytes=t.bytes)).to(throughput)
    totals.flat_map(
        lambda t: t.parts.map(
            lambda p: ProtocolShare(
                start=t.start,
                proto=p.proto,
                flows=p.flows,
                bytes=p.bytes,
                share=if_else(t.bytes > 0, p.bytes / t.bytes, p.flows / t.flows),
            )
        )
    ).to(protocols)

    between = (
        flows.map_to_pair(lambda f: ((f.src, f.dst), f.only("packets", "sent", "received")))
        .window(tumbling("10s"))
        .aggregate_by_key(
            flows=agg.count(),
            packets=agg.sum(lambda value: value.packets),
            bytes=agg.sum(lambda value: value.sent + value.received),
            sent=agg.sum(lambda value: value.sent),
        )
        .map(
            lambda p: PairTraffic(
                start=p.window.start,
                src=p.key._1,
                dst=p.key._2,
                flows=p.value.flows,
                packets=coalesce(p.value.packets, 0),
                bytes=coalesce(p.value.bytes, 0),
                sent=coalesce(p.value.sent, 0),
            )
        )
    )
    (
        between.window(tumbling("10s"))
        .top(20, by=lambda p: (p.bytes, p.flows, p.src, p.dst))
        .map(lambda p: p.without("window"))
        .to(pairs)
    )

    # A pair seen from each of its two sides.
    sides = between.flat_map(
        lambda p: [
            {
                "host": p.src,
                "peer": p.dst,
                "flows": p.flows,
                "packets": p.packets,
                "bytes": p.bytes,
                "sent": p.sent,
                "start": p.start,
            },
            {
                "host": p.dst,
                "peer": p.src,
                "flows": p.flows,
                "packets": p.packets,
                "bytes": p.bytes,
                "sent": p.bytes - p.sent,
                "start": p.start,
            },
        ]
    )
    of_hosts = (
        sides.map_to_pair(lambda s: (s.host, s))
        .window(tumbling("10s"))
        .aggregate_by_key(
            flows=agg.sum(lambda value: value.flows),
            packets=agg.sum(lambda value: value.packets),
            bytes=agg.sum(lambda value: value.bytes),
            sent=agg.sum(lambda value: value.sent),
        )
        .map(
            lambda h: HostTraffic(
                start=h.window.start,
                host=h.key,
                flows=coalesce(h.value.flows, 0),
                packets=coalesce(h.value.packets, 0),
                bytes=coalesce(h.value.bytes, 0),
                sent=coalesce(h.value.sent, 0),
            )
        )
    )
    busiest = (
        of_hosts.window(tumbling("10s"))
        .top(20, by=lambda h: (h.bytes, h.flows, h.host))
        .map(lambda h: h.without("window"))
    )
    busiest.to(hosts)

    # --- tables, which the units below read

    # The busiest hosts of the newest window, under the key "now".
    listed = busiest.map_to_pair(lambda h: ("now", h)).window(tumbling("10s")).group_by_key()
    busiest_now = listed.map_to_pair(lambda w: (w.key, w.value)).aggregate_by_key(hosts=agg.last(lambda value: value))

    # Each host since it was first seen.
    profiles = sides.map_to_pair(lambda s: (s.host, s)).aggregate_by_key(
        first=agg.min(lambda value: value.start),
        last=agg.max(lambda value: value.start),
        flows=agg.sum(lambda value: value.flows),
        packets=agg.sum(lambda value: value.packets),
        bytes=agg.sum(lambda value: value.bytes),
        sent=agg.sum(lambda value: value.sent),
        peers=agg.approx_distinct(lambda value: value.peer),
    )

    # Windows come in order, so that the first is the least and never changes.
    first_seen = of_hosts.map_to_pair(lambda h: (h.host, h.start)).reduce_by_key(lambda a, b: fn.min(a, b))
    first_seen.changes().map(lambda h: NewHost(host=h.key, since=h.value)).to(new_hosts)

    # --- key servers: those of servers.csv. Failing: half of the connections or more failed; slow: they take longer
    # than they should, on average

    known = files("servers.csv", format="csv").as_(Server)
    served = flows.join(known, on=lambda f, s: (f.dst == s.server) & (f.port == s.port))
    (
        served.map_to_pair(lambda j: (j.right, j.left))
        .window(tumbling("10s"))
        .aggregate_by_key(
            flows=agg.count(),
            failed=agg.sum(lambda value: if_else(has_failed(value.outcome), 1, 0)),
            seconds=agg.mean(lambda value: if_else(value.outcome == "answered", fn.to_seconds(value.duration), None)),
        )
        .map(
            lambda s: ServerState(
                start=s.window.start,
                name=s.key.name,
                server=s.key.server,
                port=s.key.port,
                flows=s.value.flows,
                failed=coalesce(s.value.failed, 0),
                seconds=s.value.seconds,
                state=if_else(
                    2 * coalesce(s.value.failed, 0) >= s.value.flows,
                    "failing",
                    if_else(coalesce(s.value.seconds, 0.0) > fn.to_seconds(s.key.slow_after), "slow", "up"),
                ),
            )
        )
        .to(servers)
    )

    # --- alarms

    probes = flows.filter(lambda f: (f.proto == "tcp") & has_failed(f.outcome))

    # Port scan: one host tries ten ports or more of another in five minutes, and they do not answer.
    port_scan = (
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

    # Address scan: one host tries one port of ten hosts or more in five minutes, and they do not answer.
    address_scan = (
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

    # Flood: a port is asked for 500 connections or more in ten seconds, and most of them fail.
    flood = (
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

    # Brute force: one host opens 20 short connections or more a minute to a port where people log in.
    brute_force = (
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

    # Unusual volume: in a minute a host sends more than 10 MB and ten times what it sends on average in the other
    # minutes of half an hour; only of hosts that were seen in ten minutes of it.
    volumes = of_hosts.map_to_pair(lambda h: (h.host, h.sent)).window(tumbling("60s")).reduce_by_key(lambda a, b: a + b)
    usual = (
        volumes.map_to_pair(lambda v: (v.key, {"start": v.window.start, "bytes": v.value}))
        .window(sliding("30m", "1m"))
        .aggregate_by_key(
            minutes=agg.count(),
            bytes=agg.sum(lambda value: value.bytes),
            now=agg.last(lambda value: value),
        )
    )
    unusual_volume = (
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

    # Beaconing: one host calls one TCP port of another twelve times or more in half an hour, the last twelve at a beat:
    # from each call to the next but one (so that a retry does not hide it) it is equally long, within a tenth, and
    # ten seconds or more.
    regular = (
        flows.filter(lambda f: f.proto == "tcp")
        .map_to_pair(lambda f: ((f.src, f.dst, f.port), fn.to_micros(f.begin)))
        .window(tumbling("30m"))
        .aggregate_by_key(calls=agg.count(), latest=agg.top_k(lambda value: value, 12))
    )
    beaconing = regular.filter(lambda b: (b.value.calls >= 12) & has_beat(b.value.latest)).map(
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

    alarms = union(port_scan, address_scan, flood, brute_force, unusual_volume, beaconing)
    alarms.to(alerts)

    # What each host was accused of.
    accused = alarms.map_to_pair(lambda a: (a.src, a)).aggregate_by_key(
        alarms=agg.count(), worst=agg.min(lambda value: value.severity), last=agg.max(lambda value: value.ts)
    )


@traffic.stream
def suricata() -> None:
    """Alerts of Suricata go where the alarms go."""
    (
        files("in/suricata", format="eve")
        .as_(EveAlert)
        .filter(lambda a: a.event == "alert")
        .map(
            lambda a: Alert(
                ts=a.ts,
                src=a.src,
                dst=a.dst,
                port=coalesce(a.port, 0),
                signature=coalesce(a.signature, ""),
                category=coalesce(a.category, ""),
                severity=coalesce(a.severity, 3),
                origin="suricata",
            )
        )
        .to(alerts)
    )


# ---------------------------------------------------------------------------------------------- from outside


@traffic.stream(responsive=True)
def talkers(n: int = 10) -> None:
    """The hosts that move most now: of the newest window, twenty at most."""
    (
        monitor.busiest_now.read("now")
        .filter(lambda t: t.value.hosts.is_not_null())
        .flat_map(lambda t: t.value.hosts)
        .top(n, by=lambda h: (h.bytes, h.flows, h.host))
        .reply()
    )


@traffic.stream(responsive=True)
def host_profile(host: str) -> None:
    """What is known of a host, with the alarms about it."""
    monitor.profiles.read(host).join(monitor.accused.read(host), kind="left").reply()
