"""The program of the design page, in both front ends, except for its one elided step."""

TEXT = """program traffic

record Flow {
  ts:    timestamp from "ts"         # where it stands in the source's format
  src:   string    from "id.orig_h"
  dst:   string    from "id.resp_h"
  proto: string
  bytes: int
  label: string?                     # ? = may be null
}

record Alarm { ts: timestamp, src: string, dst: string, label: string }
record Step  { attacker: string, victim: string, at: timestamp, hops: int }

cache rebuild_calls = kafka("traffic.rebuild")
sink  shares = redis("traffic:share", key = r => (r.key, r.window.start))
sink  alarms = parquet("lake/alarms", mode = append)
sink  steps  = redis("traffic:step", key = s => (s.attacker, s.victim), mode = replace)

# A DIStream. Always running, called by nobody.
stream monitor {
  flows = union(kafka("flows.edge1", format = json), kafka("flows.edge2", format = json))
            .as(Flow)
            .event_time(f => f.ts, disorder = 10s)

  flows.filter(f => f.bytes > 0)
       .map_to_pair(f => (f.proto, f.bytes))
       .window(tumbling(10s))
       .reduce_by_key((a, b) => a + b)
       .to(shares)

  hosts = flows.map_to_pair(f => (f.src, f.bytes)).reduce_by_key((a, b) => a + b)  # a table, kept as state

  flows.filter(f => f.label is not null)
       .map(f => Alarm { ts: f.ts, src: f.src, dst: f.dst, label: f.label })
       .to(alarms)
       .publish(rebuild(since = min(ts)), every = 1000)
}

# A responsive SIStream: a Spark job that runs when it is called.
responsive batch rebuild(since: timestamp, depth: int = 3) on rebuild_calls {
  recent = alarms.read().filter(a => a.ts >= since)
  recent.map(a => Step { attacker: a.src, victim: a.dst, at: a.ts, hops: 1 })
        .iterate(step = s => s.union(recent),
                 until = (before, after) => after.count() == before.count(),
                 limit = depth)
        .to(steps)
}

# A responsive DIStream: answers from live state in milliseconds.
responsive stream talkers(n: int = 10) {
  monitor.hosts.read().top(n, by = h => h.value).reply()
}
"""

PYTHON = """from datetime import datetime

from ghcm import Program, Record, agg, at, kafka, parquet, redis, tumbling, union

traffic = Program("traffic")


class Flow(Record):
    ts: datetime = at("ts")
    src: str = at("id.orig_h")
    dst: str = at("id.resp_h")
    proto: str
    bytes: int
    label: str | None


class Alarm(Record):
    ts: datetime
    src: str
    dst: str
    label: str


class Step(Record):
    attacker: str
    victim: str
    at: datetime
    hops: int


rebuild_calls = traffic.cache(kafka("traffic.rebuild"))
shares = traffic.sink(redis("traffic:share", key=lambda r: (r.key, r.window.start)))
alarms = traffic.sink(parquet("lake/alarms", mode="append"))
steps = traffic.sink(redis("traffic:step", key=lambda s: (s.attacker, s.victim), mode="replace"))


@traffic.stream
def monitor():
    flows = (
        union(kafka("flows.edge1", format="json"), kafka("flows.edge2", format="json"))
        .as_(Flow)
        .event_time(lambda f: f.ts, disorder="10s")
    )
    (
        flows.filter(lambda f: f.bytes > 0)
        .map_to_pair(lambda f: (f.proto, f.bytes))
        .window(tumbling("10s"))
        .reduce_by_key(lambda a, b: a + b)
        .to(shares)
    )
    hosts = flows.map_to_pair(lambda f: (f.src, f.bytes)).reduce_by_key(lambda a, b: a + b)
    (
        flows.filter(lambda f: f.label.is_not_null())
        .map(lambda f: Alarm(ts=f.ts, src=f.src, dst=f.dst, label=f.label))
        .to(alarms)
        .publish(rebuild(since=agg.min("ts")), every=1000)
    )


@traffic.batch(responsive=True, on=rebuild_calls)
def rebuild(since: datetime, depth: int = 3):
    recent = alarms.read().filter(lambda a: a.ts >= since)
    (
        recent.map(lambda a: Step(attacker=a.src, victim=a.dst, at=a.ts, hops=1))
        .iterate(
            step=lambda s: s.union(recent),
            until=lambda before, after: after.count() == before.count(),
            limit=depth,
        )
        .to(steps)
    )


@traffic.stream(responsive=True)
def talkers(n: int = 10):
    monitor.hosts.read().top(n, by=lambda h: h.value).reply()
"""
