"""Examples of transformations."""

from __future__ import annotations

from ghcm.manual.example import Pipeline

_TIMED = """\
visits = memory([{ at: 1, page: "/" }, { at: 4, page: "/" }, { at: 12, page: "/docs" }])
           .event_time(v => from_micros(v.at * 1000000), disorder = 0s)
"""
_FIRST = '{"start": "1970-01-01T00:00:00.000000Z", "end": "1970-01-01T00:00:10.000000Z"}'
_SECOND = '{"start": "1970-01-01T00:00:10.000000Z", "end": "1970-01-01T00:00:20.000000Z"}'

EXAMPLES: dict[str, tuple[Pipeline, ...]] = {
    # rows
    "as": (
        Pipeline(
            'files("visits.jsonl", format = json).as(Visit)',
            ('{"page": "/", "country": "AT"}', 'dead letter (bad_record): {"geo":{}}'),
            declares='record Visit { page: string, country: string? from "geo.country" }',
            files={"visits.jsonl": '{"page":"/","geo":{"country":"AT"}}\n{"geo":{}}\n'},
        ),
    ),
    "event_time": (
        Pipeline(
            "memory([{ at: 5 }, { at: null }]).event_time(r => from_micros(r.at), disorder = 10s)",
            ('{"at": 5}', 'dead letter (null_time): {"at":null}'),
        ),
        Pipeline(
            "north = memory([{ at: 1 }, { at: 12 }]).event_time(r => from_micros(r.at * 1000000), disorder = 0s, "
            "idle = 30s)\n"
            "south = memory([{ at: 3 }]).event_time(r => from_micros(r.at * 1000000), disorder = 0s, idle = 30s)\n"
            "union(north, south).window(tumbling(10s)).count().map(c => c.value).to(out)",
            ("out: 2", "out: 1"),
            'sink out = files("out", mode = append)',
            unit="stream",
        ),
    ),
    "filter": (
        Pipeline(
            "memory([{ n: 4 }, { n: 1 }, { n: 0 }]).filter(r => 4 // r.n < 3)",
            ('{"n": 4}', 'dead letter (zero_divisor): {"n":0}'),
        ),
    ),
    "map": (
        Pipeline(
            "memory([{ n: 4 }, { n: 0 }]).map(r => { n: r.n, share: 100 // r.n })",
            ('{"n": 4, "share": 25}', 'dead letter (zero_divisor): {"n":0}'),
        ),
    ),
    "flat_map": (Pipeline('memory(["to be", "or"]).flat_map(line => words(line))', ('"to"', '"be"', '"or"')),),
    "map_to_pair": (
        Pipeline(
            'memory(["/", "/docs"]).map_to_pair(page => (page, 1))',
            ('{"key": "/", "value": 1}', '{"key": "/docs", "value": 1}'),
        ),
    ),
    "map_values": (
        Pipeline(
            'memory([3, 4]).map_to_pair(n => (n, "a")).map_values(s => s + "!")',
            ('{"key": 3, "value": "a!"}', '{"key": 4, "value": "a!"}'),
        ),
    ),
    "key_by": (
        Pipeline(
            'memory([{ page: "/", n: 1 }]).key_by(r => r.page)', ('{"key": "/", "value": {"page": "/", "n": 1}}',)
        ),
    ),
    "python": (Pipeline('memory(["to be"]).python("string:capwords") : string', ('"To Be"',)),),
    "union": (Pipeline("a = memory([1, 2])\nb = memory([2, 3])\na.union(b)", ("1", "2", "2", "3")),),
    "sample": (Pipeline("memory([1, 2, 3, 4, 5, 6, 7, 8]).sample(0.5, seed = 1)", ("1", "2", "5", "6", "8")),),
    # windows
    "window": (
        Pipeline(
            _TIMED + "visits.map_to_pair(v => (v.page, 1)).window(tumbling(10s)).count()",
            (
                f'{{"key": "/", "value": 2, "window": {_FIRST}}}',
                f'{{"key": "/docs", "value": 1, "window": {_SECOND}}}',
            ),
        ),
        Pipeline(
            "days = generate(rows = 3, step = 11h).event_time(r => r.time, disorder = 0s)\n"
            "days.window(tumbling(1d, offset = 22h)).map(r => r.window.start)",
            ('"1969-12-31T22:00:00.000000Z"', '"1969-12-31T22:00:00.000000Z"', '"1970-01-01T22:00:00.000000Z"'),
        ),
    ),
    # groups
    "reduce_by_key": (
        Pipeline(
            "memory([3, 4, 5]).map_to_pair(n => (n % 2, n)).reduce_by_key((a, b) => a + b)",
            ('{"key": 0, "value": 4}', '{"key": 1, "value": 8}'),
        ),
    ),
    "aggregate_by_key": (
        Pipeline(
            "memory([3, 4, 5]).map_to_pair(n => (n % 2, n)).aggregate_by_key(n = count(), most = max(value))",
            ('{"key": 0, "value": {"n": 1, "most": 4}}', '{"key": 1, "value": {"n": 2, "most": 5}}'),
        ),
    ),
    "group_by_key": (
        Pipeline(
            "memory([5, 4, 3]).map_to_pair(n => (n % 2, n)).group_by_key()",
            ('{"key": 0, "value": [4]}', '{"key": 1, "value": [3, 5]}'),
        ),
    ),
    "count": (
        Pipeline("memory([3, 4, 5]).count()", ("3",)),
        Pipeline(
            "memory([3, 4, 5]).map_to_pair(n => (n % 2, n)).count()",
            ('{"key": 0, "value": 1}', '{"key": 1, "value": 2}'),
        ),
    ),
    "distinct": (Pipeline("memory([3, 1, 3]).distinct()", ("1", "3")),),
    "sort": (Pipeline("memory([3, 1, 2]).sort(by = n => n, descending = true)", ("3", "2", "1")),),
    "top": (Pipeline("memory([3, 1, 2]).top(2, by = n => n)", ("3", "2")),),
    "join": (
        Pipeline(
            'visits = memory([{ page: "/", user: 7 }, { page: "/docs", user: 8 }])\n'
            'users = memory([{ id: 7, name: "ann" }])\n'
            "visits.join(users, on = (v, u) => v.user == u.id, kind = left)",
            (
                '{"left": {"page": "/", "user": 7}, "right": {"id": 7, "name": "ann"}}',
                '{"left": {"page": "/docs", "user": 8}, "right": null}',
            ),
        ),
        Pipeline(
            'trades = memory([{ at: 5, good: "tin" }]).event_time(t => from_micros(t.at))\n'
            'prices = memory([{ at: 2, good: "tin", cents: 30 }, { at: 4, good: "tin", cents: 35 }, '
            '{ at: 6, good: "tin", cents: 40 }]).event_time(p => from_micros(p.at))\n'
            "trades.join(prices, on = (t, p) => t.good == p.good, asof = true)",
            ('{"left": {"at": 5, "good": "tin"}, "right": {"at": 4, "good": "tin", "cents": 35}}',),
        ),
    ),
    "iterate": (Pipeline("memory([1, 5]).iterate(step = n => n.map(x => min(x * 2, 100)), limit = 3)", ("8", "40")),),
    "changes": (
        Pipeline(
            "sums = memory([3, 4, 5]).map_to_pair(n => (n % 2, n)).reduce_by_key((a, b) => a + b)\n"
            "sums.changes().filter(p => p.value > 4).to(out)",
            ('out: {"key": 1, "value": 8}',),
            'sink out = parquet("out", mode = append)',
            unit="stream",
        ),
    ),
    "named": (
        Pipeline('memory(["/"]).map_to_pair(page => (page, 1)).count().named("pages")', ('{"key": "/", "value": 1}',)),
    ),
}
