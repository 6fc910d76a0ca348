"""Where a pipeline ends, what is read of sinks and tables, and names."""

from __future__ import annotations

from ghcm.functions import Failure
from ghcm.operators.operator import ALL, Argument, Operator, Role, option
from ghcm.support import NotYet
from ghcm.types import Shape

ENDS = (
    Operator(
        "read",
        role=Role.SOURCE,
        takes=(Shape.TABLE,),
        arguments=(Argument("key", "any", required=False),),
        gives="a sink's records as Stream<T>; a table's as Pairs<K, V>; bounded",
        meaning="the latest complete version of a sink, or a copy of a table's state",
        exchange="none",
        failures=(Failure.BAD_RECORD,),
    ).example(
        'lake.read().filter(v => v.page == "/")',
        '{"page": "/", "seconds": 3}',
        declares=(
            "record Visit { page: string, seconds: int }\n"
            "\n"
            'sink lake = parquet("lake", mode = append)\n'
            "\n"
            "stream fill {\n"
            '  files("visits.jsonl", format = json).as(Visit).to(lake)\n'
            "}"
        ),
        sinks={"lake": ('{"page": "/", "seconds": 3}', '{"page": "/docs", "seconds": 5}')},
    ),
    Operator(
        "to",
        role=Role.END,
        takes=ALL,
        arguments=(Argument("sink", "sink"),),
        gives="the same, for publish",
        meaning=(
            "writes to a sink; in a field of CSV that may be null nothing stands for null and a pair of "
            "quotes for an empty text, and both are null when they are read: use JSON or Parquet where "
            "they differ"
        ),
    ).example(
        'memory(["/", "/docs"]).to(out)',
        'out: "/"',
        'out: "/docs"',
        declares='sink out = parquet("out", mode = append)',
        unit="batch",
    ),
    Operator(
        "publish",
        role=Role.END,
        arguments=(
            Argument("call", "call"),
            option("every", "int or duration"),
            option("when", "lambda1"),
            option("on", "name", "window_close", "completion"),
            option("at_end", "bool"),
        ),
        gives="nothing",
        meaning="calls a responsive unit by a policy",
        exchange="global",
        stateful=True,
        columnar=NotYet("a policy counts row by row"),
    ).example(
        (
            "events = memory([{ n: 1 }, { n: 2 }, { n: 3 }])\n"
            "events.to(lake).publish(rebuild(since = min(n)), every = 2)"
        ),
        'lake: {"n": 1}',
        'lake: {"n": 2}',
        'lake: {"n": 3}',
        'call rebuild: {"since": 1}',
        declares=(
            'sink lake = parquet("lake", mode = append)\n'
            "\n"
            "responsive batch rebuild(since: int) {\n"
            "  lake.read().filter(e => e.n >= since).reply()\n"
            "}"
        ),
        unit="stream",
    ),
    Operator("reply", role=Role.END, gives="nothing", meaning="the result of the call").example(
        "memory([1, 2]).map(n => n * n).reply()", "1", "4"
    ),
    Operator(
        "named",
        takes=ALL,
        arguments=(Argument("name", "string"),),
        gives="the same",
        meaning="names the task before it",
    ).example('memory(["/"]).map_to_pair(page => (page, 1)).count().named("pages")', '{"key": "/", "value": 1}'),
)
