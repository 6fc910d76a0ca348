"""What the live unit measures: what protocols, pairs and hosts move in ten seconds, and how servers do."""

from flows import has_failed
from results import HostTraffic, PairTraffic, ProtocolShare, ServerState

from ghcm import Pipeline, agg, coalesce, fn, if_else, tumbling


def of_each_protocol(flows: Pipeline) -> Pipeline:
    """What each protocol moves in ten seconds."""
    return (
        flows.map_to_pair(lambda f: (f.proto, {"packets": f.packets, "bytes": f.sent + f.received}))
        .window(tumbling("10s"))
        .aggregate_by_key(
            flows=agg.count(), packets=agg.sum(lambda value: value.packets), bytes=agg.sum(lambda value: value.bytes)
        )
    )


def of_all(of_protocols: Pipeline) -> Pipeline:
    """What all protocols move in ten seconds, with the parts of each."""
    return (
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


def shares(totals: Pipeline) -> Pipeline:
    """The share of each protocol: of the bytes, or of the flows where there are none."""
    return totals.flat_map(
        lambda t: t.parts.map(
            lambda p: ProtocolShare(
                start=t.start,
                proto=p.proto,
                flows=p.flows,
                bytes=p.bytes,
                share=if_else(t.bytes > 0, p.bytes / t.bytes, p.flows / t.flows),
            )
        )
    )


def between_hosts(flows: Pipeline) -> Pipeline:
    """What each host has sent to another in ten seconds, and got back."""
    return (
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


def most_traffic(between: Pipeline) -> Pipeline:
    """The twenty pairs of each ten seconds that move most."""
    return (
        between.window(tumbling("10s"))
        .top(20, by=lambda p: (p.bytes, p.flows, p.src, p.dst))
        .map(lambda p: p.without("window"))
    )


def from_both_sides(between: Pipeline) -> Pipeline:
    """A pair seen from each of its two sides."""
    return between.flat_map(
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


def of_each_host(sides: Pipeline) -> Pipeline:
    """What each host moves in ten seconds."""
    return (
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


def busiest_hosts(of_hosts: Pipeline) -> Pipeline:
    """The twenty hosts of each ten seconds that move most."""
    return (
        of_hosts.window(tumbling("10s"))
        .top(20, by=lambda h: (h.bytes, h.flows, h.host))
        .map(lambda h: h.without("window"))
    )


def since_first_seen(sides: Pipeline) -> Pipeline:
    """Each host since it was first seen."""
    return sides.map_to_pair(lambda s: (s.host, s)).aggregate_by_key(
        first=agg.min(lambda value: value.start),
        last=agg.max(lambda value: value.start),
        flows=agg.sum(lambda value: value.flows),
        packets=agg.sum(lambda value: value.packets),
        bytes=agg.sum(lambda value: value.bytes),
        sent=agg.sum(lambda value: value.sent),
        peers=agg.approx_distinct(lambda value: value.peer),
    )


def states_of(served: Pipeline) -> Pipeline:
    """The state of each server. Failing: half of the connections or more failed, and three at least; slow: what was
    answered took longer than it should, on average.
    """
    return (
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
                    (coalesce(s.value.failed, 0) >= 3) & (2 * coalesce(s.value.failed, 0) >= s.value.flows),
                    "failing",
                    if_else(coalesce(s.value.seconds, 0.0) > fn.to_seconds(s.key.slow_after), "slow", "up"),
                ),
            )
        )
    )
