"""What comes in, and the one form that all of it is given: the records and functions of traffic.istream in Python."""

from datetime import datetime, timedelta

from ghcm import Program, Record, at, coalesce, fn, if_else, match_, try_

traffic = Program("traffic")

NOTHING = timedelta(0)

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
