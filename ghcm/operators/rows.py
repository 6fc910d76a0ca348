"""Operators on single records: functions, event time and windows, unions."""

from ghcm.functions import Failure
from ghcm.operators.operator import EXPRESSION, Argument, Operator, option
from ghcm.support import Never
from ghcm.types import Shape

_BY_ROW = Never("a Python function by row has no columnar form; one by batch has")
_FUNCTION = Argument("function", "lambda1")
_TIMED = """\
visits = memory([{ at: 1, page: "/" }, { at: 4, page: "/" }, { at: 12, page: "/docs" }])
           .event_time(v => from_micros(v.at * 1000000), disorder = 0s)
"""
_FIRST = '{"start": "1970-01-01T00:00:00.000000Z", "end": "1970-01-01T00:00:10.000000Z"}'
_SECOND = '{"start": "1970-01-01T00:00:10.000000Z", "end": "1970-01-01T00:00:20.000000Z"}'

ROWS = (
    Operator(
        "as",
        takes=(Shape.STREAM,),
        arguments=(Argument("record", "record"),),
        gives="Stream<R>",
        meaning="decodes raw records; what does not fit is a dead letter",
        failures=(Failure.BAD_RECORD,),
    )
    .example(
        'files("visits.jsonl", format = json).as(Visit)',
        '{"page": "/", "country": "AT"}',
        'dead letter (bad_record): {"geo":{}}',
        declares='record Visit { page: string, country: string? from "geo.country" }',
        files={"visits.jsonl": ('{"page":"/","geo":{"country":"AT"}}\n{"geo":{}}\n')},
    )
    .example(
        'files("seen.jsonl", format = json).as(Seen)',
        '{"at": "2026-01-02T03:04:05.006000Z", "until": null}',
        '{"at": "1969-12-31T23:59:59.999000Z", "until": "2026-01-02T03:04:05.000006Z"}',
        'dead letter (overflow): {"at":1767323045006000000,"until":null}',
        declares="record Seen { at: timestamp in ms, until: timestamp? in us }",
        files={"seen.jsonl": '{"at":1767323045006}\n{"at":-1,"until":1767323045000006}\n{"at":1767323045006000000}\n'},
    ),
    Operator(
        "event_time",
        takes=(Shape.STREAM,),
        arguments=(Argument("time", "lambda1"), option("disorder", "duration"), option("idle", "duration")),
        gives="the same, with event time",
        meaning=(
            "declares when a record happened and, in a stream unit, how far records may come out of order; "
            "in a batch unit, and of what is read from a sink or a table, nothing is late whatever the "
            "disorder. In a stream unit it stands before aggregations and joins, which mix partitions; a "
            "batch unit may declare the time of their results. A partition that is silent holds event time "
            "back, so that no window closes, for "
            "ever or, with idle = 30s, "
            "until nothing came of it for so long by the clock of the unit (stream units): its watermark "
            "then goes on with the least of those partitions that are not idle and whose records it may "
            "meet, and when it speaks again, what it gives is late where windows have closed. Which "
            "records are late may then depend on the clock; without idle it never does. While all are "
            "silent, or have ended, nothing closes but what those that ended had come to; after a restart "
            "silence is counted anew"
        ),
        stateful=True,
        failures=(*EXPRESSION, Failure.NULL_TIME),
    )
    .example(
        "memory([{ at: 5 }, { at: null }]).event_time(r => from_micros(r.at), disorder = 10s)",
        '{"at": 5}',
        'dead letter (null_time): {"at":null}',
    )
    .example(
        (
            "north = memory([{ at: 1 }, { at: 12 }]).event_time(r => from_micros(r.at * 1000000), disorder "
            "= 0s, idle = 30s)\n"
            "south = memory([{ at: 3 }]).event_time(r => from_micros(r.at * 1000000), disorder = 0s, idle "
            "= 30s)\n"
            "union(north, south).window(tumbling(10s)).count().map(c => c.value).to(out)"
        ),
        "out: 2",
        "out: 1",
        declares='sink out = files("out", mode = append)',
        unit="stream",
    ),
    Operator(
        "filter",
        revises=True,
        arguments=(Argument("predicate", "lambda1"),),
        gives="the same",
        meaning="keeps the records for which the predicate is true",
        failures=EXPRESSION,
    ).example(
        "memory([{ n: 4 }, { n: 1 }, { n: 0 }]).filter(r => 4 // r.n < 3)",
        '{"n": 4}',
        'dead letter (zero_divisor): {"n":0}',
    ),
    Operator(
        "map",
        revises=True,
        arguments=(_FUNCTION,),
        gives="Stream<U>",
        meaning="one record for one record",
        failures=EXPRESSION,
    ).example(
        "memory([{ n: 4 }, { n: 0 }]).map(r => { n: r.n, share: 100 // r.n })",
        '{"n": 4, "share": 25}',
        'dead letter (zero_divisor): {"n":0}',
    ),
    Operator(
        "flat_map",
        revises=True,
        arguments=(_FUNCTION,),
        gives="Stream<U>",
        meaning="the items of a list for one record",
        failures=EXPRESSION,
    ).example('memory(["to be", "or"]).flat_map(line => words(line))', '"to"', '"be"', '"or"'),
    Operator(
        "map_to_pair",
        revises=True,
        arguments=(_FUNCTION,),
        gives="Pairs<K, V>",
        meaning="a pair (key, value) for one record",
        failures=EXPRESSION,
    ).example(
        'memory(["/", "/docs"]).map_to_pair(page => (page, 1))',
        '{"key": "/", "value": 1}',
        '{"key": "/docs", "value": 1}',
    ),
    Operator(
        "map_values",
        revises=True,
        takes=(Shape.PAIRS,),
        arguments=(_FUNCTION,),
        gives="Pairs<K, U>",
        meaning="a new value under the same key",
        failures=EXPRESSION,
    ).example(
        'memory([3, 4]).map_to_pair(n => (n, "a")).map_values(s => s + "!")',
        '{"key": 3, "value": "a!"}',
        '{"key": 4, "value": "a!"}',
    ),
    Operator(
        "key_by",
        revises=True,
        takes=(Shape.STREAM,),
        arguments=(_FUNCTION,),
        gives="Pairs<K, T>",
        meaning="the record itself under a key made from it",
        failures=EXPRESSION,
    ).example('memory([{ page: "/", n: 1 }]).key_by(r => r.page)', '{"key": "/", "value": {"page": "/", "n": 1}}'),
    Operator(
        "python",
        revises=True,
        arguments=(
            Argument("function", "string"),
            option("by", "name", "row", "batch", "async"),
            option("parallel", "int"),
            option("timeout", "duration"),
            option("retries", "int"),
            option("ordered", "bool"),
        ),
        gives="Stream<U>, the type behind the colon",
        meaning=(
            "a user's Python function, which gives one record for one record: by row it is called with one "
            "(a named tuple, r.page, or the value itself where records have no fields), by batch with a "
            "pyarrow table of many, and gives a table, an array or a list of as many; of a batch that "
            "fails only the bad records are dead letters. by = async is for an async def, which is called with "
            "one record: parallel calls (16) at most are under way, each for timeout if that is said, and one that "
            "fails is repeated retries times (not at all); records keep their order, or with ordered = false those "
            "that have their results go on while others, which came together with them, wait"
        ),
        failures=(Failure.PYTHON, Failure.WRONG_RESULT),
        columnar=_BY_ROW,
    )
    .example('memory(["to be"]).python("string:capwords", by = row) : string', '"To Be"')
    .example(
        'memory([{ n: 2 }, { n: 3 }]).python("squares:squared", by = batch) : int',
        "4",
        "9",
        files={
            "squares.py": (
                "import pyarrow.compute\n\ndef squared(table):  # a pyarrow.Table of many records\n"
                '    return pyarrow.compute.power(table["n"], 2)\n'
            )
        },
    )
    .example(
        'memory(["Ada", "Bob"]).python("greetings:greeting", by = async, parallel = 4, retries = 2, timeout = 1h, '
        "ordered = true) : string",
        '"hello Ada"',
        '"hello Bob"',
        files={
            "greetings.py": (
                "import asyncio\n\nasync def greeting(name):\n"
                '    await asyncio.sleep(0.001)  # or whatever an async client does\n    return f"hello {name}"\n'
            )
        },
    ),
    Operator(
        "lookup",
        arguments=(
            Argument("service", "service"),
            Argument("key", "lambda1", positional=False),
            Argument("record", "record", positional=False),
            option("as", "lambda2"),
            option("parallel", "int"),
            option("timeout", "duration"),
            option("retries", "int"),
            option("cache", "duration"),
            option("ordered", "bool"),
        ),
        gives="Stream<{left: T, right: R?}>, or what as makes of the two",
        meaning=(
            "asks a service outside for the record of each key, which is a text or a whole number: a key of Redis "
            'that holds JSON, or fields with form = hash, redis("user:{key}"); the row of a query, sql("shop", query = '
            '"select name from users where id = :key"); a JSON object over HTTP, http("https://host/users/{key}"); or '
            "rows that stand in the program, memory([...]). right is null where there is none, also for a null key and "
            "where HTTP answers 404. Records keep their order, or with ordered = false those that are answered go on "
            "while others, which came together with them, wait. At most parallel requests (16) are under way at a "
            "time, each for timeout (5s); one that fails for a reason that may pass (a server that is away, hangs, is "
            "busy) is repeated without end, and nothing more is read meanwhile, or retries times; then the record is a "
            "dead letter, as it is at once where the answer is no record or a refusal. An answer counts for cache (not "
            "at all), also that there is none. A record that is taken again after a crash is asked for again, so that "
            "the answer may be another one. The reference, and ghcm verify, look it up in a table given at one moment"
        ),
        failures=(Failure.LOOKUP, *EXPRESSION),
        columnar=Never("its keys are asked for one by one"),
        spark=Never("Spark repeats parts of its work, and would ask again: a batch unit with it runs natively"),
        native_in_batches=True,
    ).example(
        (
            'visits = memory([{ page: "/", user: 1 }, { page: "/docs", user: 2 }])\n'
            'visits.lookup(memory([{ key: 1, name: "Ada" }]), key = v => v.user, record = User, as = (v, u) => '
            "{ page: v.page, name: u.name }, parallel = 64, timeout = 1s, retries = 3, cache = 5m, ordered = true)"
        ),
        '{"page": "/", "name": "Ada"}',
        '{"page": "/docs", "name": null}',
        declares="record User { name: string }",
    ),
    Operator(
        "union",
        revises=True,
        arguments=(Argument("others", "collection", repeated=True),),
        gives="the same",
        meaning="all records of all inputs",
    ).example("a = memory([1, 2])\nb = memory([2, 3])\na.union(b)", "1", "2", "2", "3"),
    Operator(
        "sample",
        revises=True,
        arguments=(Argument("fraction", "float"), option("seed", "int")),
        gives="the same",
        meaning=(
            "a part of the records by a hash of their fields and the seed, so that equal records stay "
            "together and every run and engine gives the same"
        ),
        columnar=Never("it goes by MD5, and Polars has hashes of its own only"),
    ).example("memory([1, 2, 3, 4, 5, 6, 7, 8]).sample(0.5, seed = 1)", "1", "2", "5", "6", "8"),
    Operator(
        "window",
        arguments=(Argument("assigner", "window"), option("allowed_lateness", "duration")),
        gives="the same with the column window",
        meaning=(
            "puts records into windows of event time; a record is in each of its windows that its "
            "partition's watermark has not closed, and a dead letter where there is none. In a batch unit "
            "all windows close at the end of the input, whatever its order, and nothing is late; "
            "allowed_lateness speaks of stream units only. Windows begin at "
            "multiples of their distance since 1970, or so much later with tumbling(1d, offset = 22h), "
            "whose days are those of clocks two hours ahead. In a batch unit tumbling(size) may be as long as a "
            "parameter of the unit says; where that is not positive, each record is a dead letter (zero_divisor). "
            "With tumbling(10s, time = processing), or "
            "another one, it goes by the clock when a record comes, needs no event time, and nothing is "
            "late; windows close by the clock whether records come or not (stream units), sessions perhaps by a "
            "sixteenth of their gap later. With "
            "cumulating(1h, every = 5m) what has come so far of each hour is given every five minutes, in windows "
            "that begin with the hour and of which the last one ends with it: early results, each of which takes the "
            "place of the one before in a sink of mode upsert whose key has window.start and not window.end. A "
            "session(gap) holds what comes less than the gap after the record before, of all records or of those of a "
            "key where these are pairs, and ends a gap behind its last one; in a stream "
            "unit it is given on when nothing that is not late can lengthen it"
        ),
        failures=(Failure.LATE,),
    )
    .example(
        _TIMED + "visits.map_to_pair(v => (v.page, 1)).window(tumbling(10s)).count()",
        f'{{"key": "/", "value": 2, "window": {_FIRST}}}',
        f'{{"key": "/docs", "value": 1, "window": {_SECOND}}}',
    )
    .example(
        _TIMED + "visits.window(tumbling(size)).count().map(c => c.value)", "3", parameters="(size: duration = 1h)"
    )
    .example(
        (
            "days = generate(rows = 3, step = 11h).event_time(r => r.time, disorder = 0s)\n"
            "days.window(tumbling(1d, offset = 22h)).map(r => r.window.start)"
        ),
        '"1969-12-31T22:00:00.000000Z"',
        '"1969-12-31T22:00:00.000000Z"',
        '"1970-01-01T22:00:00.000000Z"',
    )
    .example(
        (
            "hours = generate(rows = 3, step = 20m).event_time(r => r.time, disorder = 0s)\n"
            "hours.window(sliding(1h, every = 30m)).count().map(c => { n: c.value, from: c.window.start })"
        ),
        '{"n": 2, "from": "1969-12-31T23:30:00.000000Z"}',
        '{"n": 3, "from": "1970-01-01T00:00:00.000000Z"}',
        '{"n": 1, "from": "1970-01-01T00:30:00.000000Z"}',
    )
    .example(
        (
            "visits = memory([{ at: 0 }, { at: 30 }, { at: 200 }]).event_time(v => from_seconds(v.at))\n"
            "visits.window(session(1m)).count().map(c => { n: c.value, from: c.window.start, until: c.window.end })"
        ),
        '{"n": 2, "from": "1970-01-01T00:00:00.000000Z", "until": "1970-01-01T00:01:30.000000Z"}',
        '{"n": 1, "from": "1970-01-01T00:03:20.000000Z", "until": "1970-01-01T00:04:20.000000Z"}',
    )
    .example(
        (
            "hours = generate(rows = 4, step = 20m).event_time(r => r.time, disorder = 0s)\n"
            "hours.window(cumulating(1h, every = 30m)).count()"
            ".map(c => { n: c.value, hour: c.window.start, until: c.window.end })"
        ),
        '{"n": 2, "hour": "1970-01-01T00:00:00.000000Z", "until": "1970-01-01T00:30:00.000000Z"}',
        '{"n": 3, "hour": "1970-01-01T00:00:00.000000Z", "until": "1970-01-01T01:00:00.000000Z"}',
        '{"n": 1, "hour": "1970-01-01T01:00:00.000000Z", "until": "1970-01-01T01:30:00.000000Z"}',
        '{"n": 1, "hour": "1970-01-01T01:00:00.000000Z", "until": "1970-01-01T02:00:00.000000Z"}',
    ),
)
