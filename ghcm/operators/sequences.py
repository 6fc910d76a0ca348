"""Operators that go through the values of a key in an order."""

from ghcm.functions import Failure
from ghcm.operators.operator import EXPRESSION, Argument, Operator, option
from ghcm.support import Never
from ghcm.types import Shape
from ghcm.values.processing import MOST_MOMENTS

_TIMED_VISITS = """\
visits = memory([{ at: 4, page: "/", seconds: 5 }, { at: 1, page: "/", seconds: 3 }, { at: 9, page: "/", seconds: 4 }])
           .event_time(v => from_micros(v.at * 1000000), disorder = 10s)
"""
_ONE_BY_ONE = Never("what is told of a key from one value to the next is found value by value")

SEQUENCES = (
    Operator(
        "preceding",
        takes=(Shape.PAIRS,),
        arguments=(Argument("count", "int"), option("ttl", "duration")),
        gives="Pairs<K, { current: V, before: list<V> }>",
        meaning=(
            "each value (current) with those before it of its key in event time, the last so many at most, the latest "
            "at the end; equal times are in the order of the values. Lists tell the rest: before.mean(x => x.price) is "
            "a moving average, try(before[-1].price) the price before. A stream unit gives a record on when none that "
            "is not late can come before it; what comes behind the watermark is a dead letter. It keeps the last "
            "values of each key for ever, or with ttl = 1d until nothing of the key came for so long in event time: "
            "then it begins anew"
        ),
        exchange="hash",
        stateful=True,
        failures=(Failure.LATE,),
        columnar=_ONE_BY_ONE,
    )
    .example(
        _TIMED_VISITS
        + "visits.map_to_pair(v => (v.page, v.seconds)).preceding(2)"
        + ".map(p => { now: p.value.current, before: p.value.before })",
        '{"now": 3, "before": []}',
        '{"now": 5, "before": [3]}',
        '{"now": 4, "before": [3, 5]}',
    )
    .example(
        "taps = memory([{ at: 0, n: 1 }, { at: 10, n: 2 }, { at: 100, n: 3 }]).event_time(t => from_seconds(t.at))\n"
        "taps.map_to_pair(t => (true, t.n)).preceding(2, ttl = 1m)"
        ".map(p => { now: p.value.current, before: p.value.before })",
        '{"now": 1, "before": []}',
        '{"now": 2, "before": [1]}',
        '{"now": 3, "before": []}',
    ),
    Operator(
        "absent",
        takes=(Shape.PAIRS,),
        arguments=(Argument("after", "duration"),),
        gives="Pairs<K, { last: V, since: timestamp }>",
        meaning=(
            "a record for each silence of a key: when none of it came for so long in event time, its last value and "
            "when that was; the record's own time is so much later. A key that comes back may fall silent again. It "
            "is told when event time has passed that moment: other keys have to go on, or other partitions beside one "
            "that is idle. Input that ends leaves every key silent, as it closes windows. Of equal times the greatest "
            "value is the last; what comes behind the watermark is a dead letter. A silent key is forgotten, so that "
            "state grows with the keys that are heard of only"
        ),
        exchange="hash",
        stateful=True,
        failures=(Failure.LATE, Failure.OVERFLOW),
        columnar=_ONE_BY_ONE,
    ).example(
        'visits = memory([{ at: 1, page: "/", seconds: 5 }, { at: 4, page: "/", seconds: 3 }, '
        '{ at: 60, page: "/", seconds: 4 }])\n'
        "           .event_time(v => from_seconds(v.at), disorder = 10s)\n"
        "visits.map_to_pair(v => (v.page, v.seconds)).absent(after = 30s)"
        ".map(p => { page: p.key, last: p.value.last, since: p.value.since })",
        '{"page": "/", "last": 3, "since": "1970-01-01T00:00:04.000000Z"}',
        '{"page": "/", "last": 4, "since": "1970-01-01T00:01:00.000000Z"}',
    ),
    Operator(
        "present",
        takes=(Shape.PAIRS,),
        arguments=(Argument("after", "duration"),),
        gives="the same",
        meaning=(
            "the records of a key that come first, or when none of it came for so long in event time (absent tells "
            "when it fell silent); all others are left out. So key_by(r => r.id).present(after = 1d) leaves of "
            "records that are sent again the first, and forgets a key that is silent. Of equal times the least value "
            "is the first; a stream unit waits and tells late records as preceding does"
        ),
        exchange="hash",
        stateful=True,
        failures=(Failure.LATE,),
        columnar=_ONE_BY_ONE,
    ).example(
        'visits = memory([{ at: 1, page: "/", seconds: 5 }, { at: 4, page: "/", seconds: 3 }, '
        '{ at: 60, page: "/", seconds: 4 }])\n'
        "           .event_time(v => from_seconds(v.at), disorder = 10s)\n"
        "visits.map_to_pair(v => (v.page, v.seconds)).present(after = 30s)",
        '{"key": "/", "value": 5}',
        '{"key": "/", "value": 4}',
    ),
    Operator(
        "scan",
        takes=(Shape.PAIRS,),
        arguments=(Argument("first", "any"), Argument("function", "lambda2"), option("ttl", "duration")),
        gives="Pairs<K, A>",
        meaning=(
            "for each value, in the order of event time, what the function makes of what it gave for the value before "
            "it of its key, at first of what it begins with, and of the value: running totals and states. Equal times "
            "are in the order of the values. A record for which that fails is a dead letter, and the next value goes "
            "on from before it. A stream unit waits and tells late records as preceding does, and keeps one value for "
            "each key for ever, or with ttl = 1d until nothing of the key came for so long in event time: then it "
            "begins anew"
        ),
        exchange="hash",
        stateful=True,
        failures=(*EXPRESSION, Failure.LATE),
        columnar=_ONE_BY_ONE,
    ).example(
        _TIMED_VISITS + "visits.map_to_pair(v => (v.page, v.seconds)).scan(0, (total, n) => total + n, ttl = 4s)",
        '{"key": "/", "value": 3}',
        '{"key": "/", "value": 8}',
        '{"key": "/", "value": 4}',
    ),
    Operator(
        "process",
        takes=(Shape.PAIRS,),
        arguments=(Argument("function", "string"), Argument("state", "record", positional=False)),
        gives="Pairs<K, U>, the type behind the colon",
        meaning=(
            "what a user's Python function makes of the values of each key in the order of event time (equal times in "
            "that of the values), with what it keeps of the key and at moments that it names. It is called with the "
            "key, the value, the time and the state, a record or None, as at first, and answers with three things: a "
            "list of what the key gives on at that time, the state from then on, and the moment (a datetime behind "
            "that time, or None) at which it is called again with None for the value: when event time has come there, "
            "before any value of that time or a later one, and when the input has ended. Each call names the moment "
            "anew. A call that fails, or answers with something else, is a dead letter, and nothing of it is kept; at "
            f"most {MOST_MOMENTS:,} moments follow each other without a value of the key. A key of which nothing is "
            "kept and no moment is named is forgotten. A stream unit waits and tells late records as preceding does; "
            "Spark may make the calls of a key again"
        ),
        exchange="hash",
        stateful=True,
        failures=(Failure.PYTHON, Failure.WRONG_RESULT, Failure.LATE),
        columnar=_ONE_BY_ONE,
    ).example(
        "taps = memory([{ at: 0, n: 1 }, { at: 10, n: 2 }, { at: 100, n: 4 }]).event_time(t => from_seconds(t.at))\n"
        'taps.map_to_pair(t => ("door", t.n)).process("sums:summed", state = Sum) : int',
        '{"key": "door", "value": 3}',
        '{"key": "door", "value": 4}',
        declares="record Sum { total: int }",
        files={
            "sums.py": (
                "from datetime import timedelta\n\ndef summed(key, value, time, state):\n"
                "    if value is None:  # the moment has come: nothing was heard for half a minute\n"
                "        return [state.total], None, None\n"
                "    total = value + (state.total if state else 0)\n"
                '    return [], {"total": total}, time + timedelta(seconds=30)\n'
            )
        },
    ),
    Operator(
        "chunks",
        takes=(Shape.PAIRS,),
        arguments=(Argument("count", "int"),),
        gives="Pairs<K, list<V>>, without event time",
        meaning=(
            "the values of each key in lists of so many, each as soon as the last one has come, in the order in which "
            "they come; when the input ends, what is left of each key. Lists tell the rest: chunk.sum(), "
            "chunk.max(x => x.price). Of several sources, or instances of one, each has an order of its own. In a "
            "batch unit records come in no order, and preceding(n) goes by event time"
        ),
        exchange="hash",
        stateful=True,
        columnar=_ONE_BY_ONE,
        spark=Never("all of its records are there at once, so that none comes first; preceding(n) goes by event time"),
    ).example(
        (
            'prices = memory([{ good: "tin", cents: 30 }, { good: "tin", cents: 35 }, { good: "tin", cents: 31 }])\n'
            "chunks = prices.map_to_pair(p => (p.good, p.cents)).chunks(2)\n"
            'chunks.map_values(c => { cents: c, most: c.max() }).named("most").to(out)'
        ),
        'out: {"key": "tin", "value": {"cents": [30, 35], "most": 35}}',
        'out: {"key": "tin", "value": {"cents": [31], "most": 31}}',
        declares='sink out = parquet("out", mode = append)',
        unit="stream",
    ),
)
