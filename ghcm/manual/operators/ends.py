"""Examples of ends."""

from __future__ import annotations

from ghcm.manual.example import Pipeline

EXAMPLES: dict[str, tuple[Pipeline, ...]] = {
    "to": (
        Pipeline(
            'memory(["/", "/docs"]).to(out)',
            ('out: "/"', 'out: "/docs"'),
            declares='sink out = parquet("out", mode = append)',
            unit="batch",
        ),
    ),
    "publish": (
        Pipeline(
            "events = memory([{ n: 1 }, { n: 2 }, { n: 3 }])\nevents.to(lake).publish(rebuild(since = min(n)), every = 2)",
            ('lake: {"n": 1}', 'lake: {"n": 2}', 'lake: {"n": 3}', 'call rebuild: {"since": 1}'),
            declares='sink lake = parquet("lake", mode = append)\n\nresponsive batch rebuild(since: int) {\n  lake.read().filter(e => e.n >= since).reply()\n}',
            unit="stream",
        ),
    ),
    "reply": (Pipeline("memory([1, 2]).map(n => n * n).reply()", ("1", "4")),),
}
