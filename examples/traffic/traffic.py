"""The program of traffic.istream in Python: the same names, the same graph."""

from datetime import datetime, timedelta

from chains import best_ended, best_of_way, chain_of, condensed, grown, of_time, unprovoked
from flows import ArgusFlow, EveAlert, Server, ZeekConn, flow_of_argus, flow_of_zeek, has_failed, traffic
from measures import (
    between_hosts,
    busiest_hosts,
    from_both_sides,
    most_traffic,
    of_all,
    of_each_host,
    of_each_protocol,
    shares,
    since_first_seen,
    states_of,
)
from results import HostProfile, NewHost, Throughput
from rules import (
    Alert,
    address_scans,
    beaconing_hosts,
    brute_forces,
    by_half_hour,
    by_minute,
    calls_of_hosts,
    floods,
    port_scans,
    unusual_volumes,
)

from ghcm import agg, coalesce, files, fn, if_else, parquet, socket, tumbling, union

throughput = traffic.sink(parquet("out/throughput", mode="append"))
protocols = traffic.sink(parquet("out/protocols", mode="append"))
hosts = traffic.sink(parquet("out/hosts", mode="append"))
pairs = traffic.sink(parquet("out/pairs", mode="append"))
servers = traffic.sink(parquet("out/servers", mode="append"))
new_hosts = traffic.sink(parquet("out/new_hosts", mode="append"))
alerts = traffic.sink(parquet("out/alerts", mode="append"))
chains = traffic.sink(parquet("out/chains", mode="replace"))
steps = traffic.sink(parquet("out/steps", mode="replace"))

# ---------------------------------------------------------------------------------------------- the live unit


@traffic.stream
def monitor() -> None:
    # --- sources, each made into Flows; what comes in late by more than its disorder is a dead letter

    zeek = (
        files("in/zeek", format="zeek", clock="continues")
        .as_(ZeekConn)
        .map(lambda c: flow_of_zeek(c))
        .event_time(lambda f: f.end, disorder="5m", idle="30s")
    )
    json = (
        files("in/json", format="json", clock="continues")
        .as_(ZeekConn)
        .map(lambda c: flow_of_zeek(c))
        .event_time(lambda f: f.end, disorder="5m", idle="30s")
    )
    argus = (
        files("in/argus", format="csv", clock="continues")
        .as_(ArgusFlow)
        .map(lambda a: flow_of_argus(a))
        .event_time(lambda f: f.end, disorder="5m", idle="30s")
    )
    live = (
        socket("127.0.0.1:4747", format="json")
        .as_(ZeekConn)
        .map(lambda c: flow_of_zeek(c))
        .event_time(lambda f: f.end, disorder="10s", idle="30s")
    )

    flows = union(zeek, json, argus, live)

    # --- statistics of ten seconds, by measures.py

    of_protocols = of_each_protocol(flows)
    totals = of_all(of_protocols)
    totals.map(lambda t: Throughput(start=t.start, flows=t.flows, packets=t.packets, bytes=t.bytes)).to(throughput)
    shares(totals).to(protocols)

    between = between_hosts(flows)
    most_traffic(between).to(pairs)

    sides = from_both_sides(between)
    of_hosts = of_each_host(sides)
    busiest = busiest_hosts(of_hosts)
    busiest.to(hosts)

    # --- tables, which the units below read

    # The busiest hosts of the newest window, under the key "now".
    listed = busiest.map_to_pair(lambda h: ("now", h)).window(tumbling("10s")).group_by_key()
    busiest_now = listed.map_to_pair(lambda w: (w.key, w.value)).aggregate_by_key(hosts=agg.last(lambda value: value))

    profiles = since_first_seen(sides)

    # Windows come in order, so that the first is the least and never changes.
    first_seen = of_hosts.map_to_pair(lambda h: (h.host, h.start)).reduce_by_key(lambda a, b: fn.min(a, b))
    first_seen.changes().map(lambda h: NewHost(host=h.key, since=h.value)).to(new_hosts)

    # --- key servers, those of servers.csv

    known = files("servers.csv", format="csv").as_(Server)
    served = flows.join(known, on=lambda f, s: (f.dst == s.server) & (f.port == s.port))
    states_of(served).to(servers)

    # --- alarms, by the rules of rules.py

    probes = flows.filter(lambda f: (f.proto == "tcp") & has_failed(f.outcome))
    port_scan = port_scans(probes)
    address_scan = address_scans(probes)
    flood = floods(flows)
    brute_force = brute_forces(flows)
    volumes = by_minute(of_hosts)
    usual = by_half_hour(volumes)
    unusual_volume = unusual_volumes(usual)
    regular = calls_of_hosts(flows)
    beaconing = beaconing_hosts(regular)

    alarms = union(port_scan, address_scan, flood, brute_force, unusual_volume, beaconing)
    alarms.to(alerts).publish(rebuild(until=agg.max("ts")), every=100, at_end=True)

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
        .publish(rebuild(until=agg.max("ts")), every=1000, at_end=True)
    )


# ---------------------------------------------------------------------------------------------- from outside


@traffic.batch(responsive=True)
def rebuild(
    until: datetime | None = None,
    history: timedelta = timedelta(days=2),
    wait: timedelta = timedelta(hours=1),
    depth: int = 8,
) -> None:
    """A victim that later attacks, while its own attack is open, continues a chain; of all chains of some length that
    end in one step only the best is continued, so that the work grows with the steps, not with the ways through them.
    """
    recent = of_time(alerts.read(), until, history)
    found = condensed(recent, wait)
    opening = unprovoked(found)
    paths = grown(opening, found, depth)
    ended = best_ended(paths)
    merged = best_of_way(ended)
    merged.map(lambda m: chain_of(m.best, m.alike)).sort(by=lambda c: (c.score, c.begin, c.id), descending=True).to(
        chains
    )
    merged.flat_map(lambda m: m.best.steps.map(lambda s: s.with_(chain=m.best.id))).to(steps)


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
    (
        monitor.profiles.read(host)
        .join(monitor.accused.read(host), kind="left")
        .map(
            lambda p: HostProfile(
                host=p.key,
                first=p.value.left.first,
                last=p.value.left.last,
                flows=coalesce(p.value.left.flows, 0),
                packets=coalesce(p.value.left.packets, 0),
                bytes=coalesce(p.value.left.bytes, 0),
                sent=coalesce(p.value.left.sent, 0),
                peers=p.value.left.peers,
                alarms=if_else(p.value.right.is_null(), 0, p.value.right.alarms),
                worst=if_else(p.value.right.is_null(), None, p.value.right.worst),
                last_alarm=if_else(p.value.right.is_null(), None, p.value.right.last),
            )
        )
        .reply()
    )


@traffic.batch(responsive=True)
def scenarios_of(attacker: str, n: int = 10) -> None:
    """The chains in which a host attacks, the best first."""
    mine = steps.read().filter(lambda s: s.attacker == attacker)
    (
        chains.read()
        .join(mine, on=lambda c, s: c.id == s.chain, kind="semi")
        .top(n, by=lambda c: (c.score, c.begin, c.id))
        .reply()
    )
