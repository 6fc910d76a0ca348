"""Operators on groups and whole inputs: aggregations, orders, joins, iterations."""

from ghcm.aggregates import AGGREGATES
from ghcm.functions import Failure
from ghcm.operators.operator import EXPRESSION, Argument, Operator, option
from ghcm.support import Never
from ghcm.types import Shape

GROUPS = (
    Operator(
        "reduce_by_key",
        revises=True,
        takes=(Shape.PAIRS,),
        arguments=(Argument("function", "lambda2"), option("order", "lambda1"), option("ttl", "duration")),
        gives="Pairs<K, V>, or Table<K, V> of unbounded unwindowed input",
        meaning=(
            "one value per key; what is proven to be associative and commutative is a + b of numbers, min, "
            "max, and, or, and tuples and records of these, for anything else it is said, @associative "
            "@commutative (a, b) => ... (in Python @associative and @commutative above a def), or order = "
            "v => ... makes it a fold over the values in that order; with a name, in a stream unit, what "
            "input that ends gives is both: a table while the unit runs, which is read, looked up and "
            "written to sinks of mode upsert, and pairs at the end for every other operator and for sinks "
            "of mode append. With ttl = 1d (stream units) the table forgets a key of which no record came for so "
            "long in event time, and sinks and what follows lose it, as they lose what latest deletes; it begins "
            "anew with what comes back"
        ),
        exchange="hash",
        stateful=True,
        failures=EXPRESSION,
    )
    .example(
        "memory([3, 4, 5]).map_to_pair(n => (n % 2, n)).reduce_by_key((a, b) => a + b)",
        '{"key": 0, "value": 4}',
        '{"key": 1, "value": 8}',
    )
    .example(
        "sales = memory([{ id: 1, at: 5 }, { id: 2, at: 6 }, { id: 1, at: 300 }, { id: 3, at: 3700 }])\n"
        "        .event_time(s => from_seconds(s.at), disorder = 0s)\n"
        "sums = sales.map_to_pair(s => (s.id, 1)).reduce_by_key((a, b) => a + b, ttl = 1h)\n"
        "sums.to(out)",
        'out: {"key": 1, "value": 2}',
        'out: {"key": 3, "value": 1}',
        declares='sink out = redis("sums", key = r => r.key, mode = upsert)',
        unit="stream",
    ),
    Operator(
        "aggregate_by_key",
        revises=True,
        takes=(Shape.PAIRS,),
        arguments=(option("ttl", "duration"), Argument("aggregates", "aggregate", repeated=True)),
        gives="Pairs<K, {...}>, or Table",
        meaning=(
            "named aggregates per key, as pairs and tables like reduce_by_key: "
            f"{' '.join(each.value for each in AGGREGATES)}; each takes where = v => ... and passes over the "
            "values for which that is not true; ttl as in reduce_by_key"
        ),
        exchange="hash",
        stateful=True,
        failures=EXPRESSION,
    )
    .example(
        "memory([3, 4, 5]).map_to_pair(n => (n % 2, n)).aggregate_by_key(n = count(), most = max(value))",
        '{"key": 0, "value": {"n": 1, "most": 4}}',
        '{"key": 1, "value": {"n": 2, "most": 5}}',
    )
    .example(
        "memory([3, 4, 5]).map_to_pair(n => (n % 2, n)).aggregate_by_key(n = count(where = v => v > 3), "
        "least = min(value, where = value > 4))",
        '{"key": 0, "value": {"n": 1, "least": null}}',
        '{"key": 1, "value": {"n": 1, "least": 5}}',
    )
    .example(
        (
            'prices = memory([{ good: "tin", cents: 30 }, { good: "tin", cents: 35 }, { good: "tin", cents: 31 }])\n'
            "latest = prices.map_to_pair(p => (p.good, p.cents))"
            ".aggregate_by_key(now = last(value, order = arrival), before = first(value, 2, order = arrival))\n"
            "latest.to(out)"
        ),
        'out: {"key": "tin", "value": {"now": 31, "before": [30, 35]}}',
        declares='sink out = parquet("out", mode = append)',
        unit="stream",
    ),
    Operator(
        "aggregate",
        takes=(Shape.STREAM,),
        arguments=(option("by", "lambda1"), Argument("aggregates", "aggregate", repeated=True)),
        gives="Stream<{...}> of one record, or of one for each group and window, with the window",
        meaning=(
            "the aggregates of all records, or of all records of each window; of no records at all count() is 0 and "
            "sums are null; map(p => p.value) before it takes the values of pairs. by = page groups: it gives a record "
            "for each page, with this field beside the aggregates; by = (page, country) has both fields, and by = "
            "{ hour: hour(at) } those that it names. With window(...) right before it there is "
            "one for each group and window, and a session is one of the group; input that never ends needs a window"
        ),
        exchange="global",
        stateful=True,
        failures=EXPRESSION,
    )
    .example(
        "memory([{ n: 3 }, { n: 4 }]).aggregate(rows = count(), total = sum(n), most = max(r => r.n * 2))",
        '{"rows": 2, "total": 7, "most": 8}',
    )
    .example("memory([3, 4]).filter(n => n > 9).aggregate(sum(n => n))", "null")
    .example(
        (
            'memory([{ page: "/", ms: 4 }, { page: "/", ms: 6 }, { page: "/docs", ms: 1 }])\n'
            "    .aggregate(by = page, visits = count(), slowest = max(ms))"
        ),
        '{"page": "/", "visits": 2, "slowest": 6}',
        '{"page": "/docs", "visits": 1, "slowest": 1}',
    )
    .example(
        (
            "memory([{ at: 1, n: 3 }, { at: 2, n: 4 }, { at: 12, n: 5 }]).event_time(r => from_seconds(r.at))\n"
            "    .window(tumbling(10s)).aggregate(rows = count(), total = sum(n))"
            ".map(r => { ...r, window: r.window.start })"
        ),
        '{"rows": 2, "total": 7, "window": "1970-01-01T00:00:00.000000Z"}',
        '{"rows": 1, "total": 5, "window": "1970-01-01T00:00:10.000000Z"}',
    )
    .example(
        (
            'visits = memory([{ at: 1, page: "/" }, { at: 2, page: "/" }, { at: 12, page: "/docs" }])\n'
            "           .event_time(from_seconds(at))\n"
            "visits.window(tumbling(10s)).aggregate(by = page, n = count())\n"
            "    .map({ page: page, n: n, from: window.start })"
        ),
        '{"page": "/", "n": 2, "from": "1970-01-01T00:00:00.000000Z"}',
        '{"page": "/docs", "n": 1, "from": "1970-01-01T00:00:10.000000Z"}',
    ),
    Operator(
        "group_by_key",
        revises=True,
        takes=(Shape.PAIRS,),
        arguments=(option("ttl", "duration"),),
        gives="Pairs<K, list<V>>, or Table",
        meaning="the values of a key as a list in ascending order; ttl as in reduce_by_key",
        exchange="hash",
        stateful=True,
    ).example(
        "memory([5, 4, 3]).map_to_pair(n => (n % 2, n)).group_by_key()",
        '{"key": 0, "value": [4]}',
        '{"key": 1, "value": [3, 5]}',
    ),
    Operator(
        "count",
        revises=True,
        arguments=(option("ttl", "duration"),),
        gives="Pairs<K, int> of pairs, Stream<int> of a stream; or Table",
        meaning="how many; of pairs of each key, with ttl as in reduce_by_key",
        exchange="hash",
        stateful=True,
    )
    .example("memory([3, 4, 5]).count()", "3")
    .example(
        "memory([3, 4, 5]).map_to_pair(n => (n % 2, n)).count()", '{"key": 0, "value": 1}', '{"key": 1, "value": 2}'
    ),
    Operator(
        "distinct",
        revises=True,
        arguments=(option("ttl", "duration"),),
        gives="the same",
        meaning=(
            "each different record once, of which all are kept for ever; or with ttl = 1d once until none that is "
            "equal came for so long in event time, as present(1d) of pairs whose key is the record: what is not heard "
            "of is forgotten, and what comes behind the watermark is a dead letter"
        ),
        exchange="hash",
        stateful=True,
        failures=(Failure.LATE,),
    )
    .example("memory([3, 1, 3]).distinct()", "1", "3")
    .example(
        "memory([{ at: 1, n: 3 }, { at: 2, n: 3 }, { at: 90, n: 3 }]).event_time(r => from_seconds(r.at))\n"
        "    .map(r => r.n).distinct(ttl = 1m)",
        "3",
        "3",
    ),
    Operator(
        "sort",
        arguments=(Argument("by", "lambda1"), option("descending", "bool")),
        gives="the same",
        meaning="in order; of a tuple by its first part, then by the next; desc(x) and asc(x) say the direction of one",
        exchange="global",
        stateful=True,
        needs_bounded=True,
        failures=EXPRESSION,
    )
    .example("memory([3, 1, 2]).sort(by = n => n, descending = true)", "3", "2", "1")
    .example(
        'memory([{ item: "a", n: 1 }, { item: "b", n: null }, { item: "c", n: 2 }, { item: "d", n: 2 }])'
        ".sort(by = r => (desc(r.n), asc(r.item)))",
        '{"item": "c", "n": 2}',
        '{"item": "d", "n": 2}',
        '{"item": "a", "n": 1}',
        '{"item": "b", "n": null}',
    ),
    Operator(
        "top",
        arguments=(Argument("count", "int"), Argument("by", "lambda1"), option("ascending", "bool")),
        gives="the same",
        meaning=(
            "the greatest by a value, of each window where records are in windows; other input is bounded; asc(x) and "
            "desc(x) say the direction of a part, as in sort"
        ),
        exchange="global",
        stateful=True,
        failures=EXPRESSION,
    )
    .example("memory([3, 1, 2]).top(2, by = n => n)", "3", "2")
    .example("memory([3, 1, 2]).top(2, by = n => n, ascending = true)", "1", "2"),
    Operator(
        "join",
        revises=True,
        arguments=(
            Argument("other", "collection"),
            Argument("on", "lambda2", required=False),
            option("kind", "name", "inner", "left", "right", "full", "semi", "anti"),
            option("within", "interval", "forever"),
            option("asof", "bool"),
            option("as", "lambda2"),
        ),
        gives=(
            "Stream<{left, right}>, or of the fields of both where names of fields are joined, or "
            "Pairs<K, {left, right}> of pairs, in windows if they are; the left records of semi and anti"
        ),
        meaning=(
            "records of both inputs that belong together; left, right and full keep those without a partner, with a "
            "null in its place; semi gives left records that have one, anti those that have none; null keys have "
            "none. A stream that never ends is looked up record by record: in another input, for whose end it waits, "
            "or in what a table has given on when the record comes (inner, left, semi, anti). A table of records with"
            " event time is seen as it was at the record's time: of its key what all records up to then make, "
            "whatever order they come in (nothing where it is deleted then, or with ttl the last of them is that long "
            "before); the record waits for the watermark to pass, and records of either side that come behind it are "
            "late. Such a table goes by values or times of its records, not by arrival. Within an interval, event "
            "times are at most so far apart, also of two streams that never end: a record is late, a dead letter, when "
            "its partition's watermark has left the interval around it, and what met nobody is given on when nobody "
            "can come any more. Of within = (-1m, 5m) the right record is a minute earlier at most and five minutes "
            "later at most; of within = forever any two belong together, so that all records are kept, and windows "
            "behind it close at the end. With asof = true a left record meets only the latest right record at or "
            "before its own time (and within the interval; of several at that time the greatest); of streams that "
            "never end it waits until nothing so early can come, and what comes later than that is late. Pairs in "
            "windows are joined by "
            "key and window, and give {key, value, window}. as = (l, r) => ... makes one record of the two, of pairs "
            "that are joined by key one value. Over the names of fields, user == id, it gives the fields of both in "
            "one record; user alone, or (user, day), are fields of both sides that are equal, and fields of the "
            "result once"
        ),
        exchange="hash",
        stateful=True,
        failures=(*EXPRESSION, Failure.LATE),
    )
    .example(
        (
            'visits = memory([{ page: "/", user: 7 }, { page: "/docs", user: 8 }])\n'
            'users = memory([{ id: 7, name: "ann" }])\n'
            "visits.join(users, on = (v, u) => v.user == u.id, kind = left)"
        ),
        '{"left": {"page": "/", "user": 7}, "right": {"id": 7, "name": "ann"}}',
        '{"left": {"page": "/docs", "user": 8}, "right": null}',
    )
    .example(
        (
            'visits = memory([{ page: "/", user: 7 }])\n'
            'users = memory([{ id: 7, name: "ann" }])\n'
            "visits.join(users, on = (v, u) => v.user == u.id, as = (v, u) => { ...v, name: u.name })"
        ),
        '{"page": "/", "user": 7, "name": "ann"}',
    )
    .example(
        (
            'visits = memory([{ page: "/", user: 7 }, { page: "/docs", user: 8 }])\n'
            'users = memory([{ id: 7, name: "ann" }])\n'
            'bans = memory([{ user: 8, reason: "spam" }])\n'
            "visits.join(users, user == id, kind = left).join(bans, user, kind = full)"
        ),
        '{"page": "/", "user": 7, "id": 7, "name": "ann", "reason": null}',
        '{"page": "/docs", "user": 8, "id": null, "name": null, "reason": "spam"}',
    )
    .example(
        (
            'visits = memory([{ page: "/", user: 7 }, { page: "/docs", user: 8 }])\n'
            "known = memory([{ user: 7 }, { user: 7 }])\n"
            "visits.join(known, on = (v, k) => v.user == k.user, kind = semi)"
            ".union(visits.join(known, on = (v, k) => v.user == k.user, kind = anti).map(v => v with { user: 0 }))"
        ),
        '{"page": "/", "user": 7}',
        '{"page": "/docs", "user": 0}',
    )
    .example(
        (
            'trades = memory([{ at: 5, good: "tin" }]).event_time(t => from_micros(t.at))\n'
            'prices = memory([{ at: 2, good: "tin", cents: 30 }, { at: 4, good: "tin", cents: 35 }, { at: '
            '6, good: "tin", cents: 40 }]).event_time(p => from_micros(p.at))\n'
            "trades.join(prices, on = (t, p) => t.good == p.good, asof = true)"
        ),
        '{"left": {"at": 5, "good": "tin"}, "right": {"at": 4, "good": "tin", "cents": 35}}',
    )
    .example(
        (
            "orders = memory([{ id: 1, at: 5 }]).event_time(o => from_seconds(o.at))\n"
            "paid = memory([{ id: 1, at: 8 }, { id: 1, at: 90 }]).event_time(p => from_seconds(p.at))\n"
            "orders.join(paid, on = (o, p) => o.id == p.id, within = 1m).map(j => { id: j.left.id, paid: j.right.at })"
        ),
        '{"id": 1, "paid": 8}',
    )
    .example(
        (
            "orders = memory([{ id: 1, at: 5 }]).event_time(o => from_seconds(o.at))\n"
            "paid = memory([{ id: 1, at: 3 }, { id: 1, at: 8 }]).event_time(p => from_seconds(p.at))\n"
            "orders.join(paid, on = (o, p) => o.id == p.id, within = (0s, 1m))"
            ".map(j => { id: j.left.id, paid: j.right.at })"
        ),
        '{"id": 1, "paid": 8}',
    ),
    Operator(
        "cross",
        revises=True,
        arguments=(Argument("other", "collection"), option("as", "lambda2")),
        gives="Stream<{left, right}>",
        meaning=(
            "each record beside each one of another input, which ends: a total, a threshold or another single record "
            "beside all; as = (l, r) => ... makes one record of the two"
        ),
        exchange="global",
        stateful=True,
        failures=EXPRESSION,
    ).example(
        (
            'sales = memory([{ item: "tea", cents: 30 }, { item: "ink", cents: 10 }])\n'
            "whole = sales.map_to_pair(s => (0, s.cents)).reduce_by_key((a, b) => a + b)\n"
            "sales.cross(whole, as = (s, w) => { item: s.item, share: s.cents / w.value })"
        ),
        '{"item": "tea", "share": 0.75}',
        '{"item": "ink", "share": 0.25}',
    ),
    Operator(
        "iterate",
        arguments=(Argument("step", "lambda1"), option("until", "lambda2"), Argument("limit", "int", positional=False)),
        gives="the same, without event time",
        meaning=(
            "a pipeline that each round runs on what the round before gave, until totals of the two "
            "compare as asked or the limit is reached"
        ),
        exchange="global",
        stateful=True,
        needs_bounded=True,
        failures=EXPRESSION,
    )
    .example("memory([1, 5]).iterate(step = n => n.map(x => min(x * 2, 100)), limit = 3)", "8", "40")
    .example(
        "memory([1, 5]).iterate(step = n => n.map(x => min(x * 2, 9)), "
        "until = (before, after) => after.sum(n => n) == before.sum(n => n), limit = 9)",
        "9",
        "9",
    ),
    Operator(
        "changes",
        takes=(Shape.TABLE,),
        gives="Pairs<K, V>",
        meaning=(
            "a table as records that flow on: at each commit the pairs of the keys whose value is another "
            "than at the commit before, so that those of a key come in order, never the same value twice "
            "in a row, and the last one is its final value; values that came and went between two commits "
            "are not seen; the value of a key that a latest() has lost is null"
        ),
        exchange="hash",
        stateful=True,
        columnar=Never("what a table gives at a commit is rows already"),
        spark=Never("aggregations in a batch unit give final pairs, which flow on without changes()"),
    ).example(
        (
            "sums = memory([3, 4, 5]).map_to_pair(n => (n % 2, n)).reduce_by_key((a, b) => a + b)\n"
            "sums.changes().filter(p => p.value > 4).to(out)"
        ),
        'out: {"key": 1, "value": 8}',
        declares='sink out = parquet("out", mode = append)',
        unit="stream",
    ),
)
