"""What begins a pipeline and where it ends, what is read of sinks and tables, and names."""

from ghcm.formats.messages import PARTS
from ghcm.functions import Failure
from ghcm.operators.operator import ALL, Argument, Operator, Role, option
from ghcm.support import Never, NotYet
from ghcm.types import Shape

_SPARK_UNBOUNDED = Never("a batch job cannot read input that never ends")
_LINES = ("json", "csv", "tsv", "zeek", "eve", "text", "debezium")
_FORMAT = option("format", "name", *_LINES)
_MESSAGE_FORMAT = option("format", "name", "json", "csv", "tsv", "eve", "text", "raw", "avro", "debezium")
_ENVELOPE = option("envelope", "string")
_FILE_FORMAT = option("format", "name", *_LINES, "parquet", "arrow")
_COMPRESSION = option("compression", "name", "gzip", "zstd", "none")
_CLOCK = option("clock", "name", "restarts", "continues")

SOURCES = (
    Operator(
        "files",
        role=Role.SOURCE,
        takes=(),
        arguments=(
            Argument("path", "string"),
            _FILE_FORMAT,
            option("separator", "string"),
            option("keep_empty", "bool"),
            _ENVELOPE,
            _COMPRESSION,
            _CLOCK,
            option("follow", "bool"),
            option("tail", "bool"),
        ),
        gives="raw records, bounded without follow and tail; text gives Stream<Line>",
        meaning=(
            "records of files by path, directory or glob, in the order of their names; text is UTF-8, a "
            "byte order mark before it is passed over; CSV and TSV are as in RFC 4180, quotes included, with a "
            "header line; a record spans 1,000 lines at most, and a quote that nobody closes costs its line alone; "
            "an empty cell of a text that may be null is null, or with keep_empty = true an empty text where it is "
            'quoted, "", and null where nothing stands; '
            "event time restarts in each file (a partition each) or continues (one "
            "partition); with follow also of files that appear later, each read once when it is whole; "
            "with tail, which includes follow, of files that grow, such as logs: each line is read when "
            "its newline is there, so that an unfinished last line waits, also over a stop; a file is "
            "known by where it is on the disk and by what it began with and last held, so that one that is "
            "renamed, or copied and then cut (copytruncate), is read to its end and its successor from its "
            "beginning, and a restart goes on where it was; packed files are left out. A new file that "
            "holds nothing but what another one begins with waits until it differs, five seconds at most, "
            "as it may be a copy; what was cut or removed before it was read is said in the log"
        ),
        exchange="none",
        stateful=True,
        failures=(Failure.BAD_RECORD,),
    )
    .example(
        'files("visits.csv", format = csv, separator = ";").as(Visit)',
        '{"page": "/", "seconds": 3}',
        '{"page": "/docs", "seconds": null}',
        "dead letter (bad_record): /prices;many",
        declares="record Visit { page: string, seconds: int? }",
        files={"visits.csv": ("page;seconds\n/;3\n/docs;\n/prices;many\n")},
    )
    .example(
        'files("notes.csv", format = csv, keep_empty = true).as(Note)',
        '{"note": "", "by": null}',
        '{"note": null, "by": ""}',
        '{"note": "\\"", "by": "ann, bob"}',
        declares="record Note { note: string?, by: string? }",
        files={"notes.csv": 'note,by\n"",\n,""\n"""","ann, bob"\n'},
    )
    .example(
        'files("app.log", format = text).filter(l => l.text.contains("error"))',
        '{"text": "error: full", "file": "app.log", "number": 2}',
        files={"app.log": "started\nerror: full\n"},
    )
    .example(
        'files("visits.tsv", format = tsv, compression = none).as(Visit)',
        '{"page": "/", "seconds": 3}',
        declares="record Visit { page: string, seconds: int? }",
        files={"visits.tsv": "page\tseconds\n/\t3\n"},
    )
    .example(
        'files("rows.jsonl", format = debezium).as(Row).latest(key = r => r.id, deleted = r => r.op == "d", '
        "order = r => r.at)",
        '{"key": 1, "value": {"id": 1, "name": "eve", "op": "u", "at": 6}}',
        declares='record Row { id: int, name: string, op: string from "__op", at: int from "__ts_ms" }',
        files={
            "rows.jsonl": (
                '{"op":"c","ts_ms":5,"before":null,"after":{"id":1,"name":"ann"}}\n'
                '{"op":"u","ts_ms":6,"before":null,"after":{"id":1,"name":"eve"}}\n'
                '{"op":"c","ts_ms":7,"before":null,"after":{"id":2,"name":"bob"}}\n'
                '{"op":"d","ts_ms":8,"before":{"id":2,"name":"bob"},"after":null}\n'
            )
        },
    ),
    Operator(
        "table",
        role=Role.SOURCE,
        takes=(),
        arguments=(
            Argument("path", "string"),
            option("at", "int or time"),
            option("follow", "bool"),
            option("rewrites", "name", "fail", "ignore"),
        ),
        gives="raw records, bounded without follow",
        meaning=(
            "rows of a Delta table, whoever writes it, as of its newest commit, of a version (at = 12) or of a "
            'time (at = "2026-01-02T03:04:05Z"); the record names the columns that are read, and their types '
            "are those of the table; all rows are one partition, in the order in which their files were added; "
            "with follow also the rows that each later commit adds, once and in order: commits that compact "
            "files or tidy up add none, and one that removes or replaces rows ends the unit with an error, "
            "unless rewrites = ignore passes over it as a whole"
        ),
        exchange="none",
        stateful=True,
        failures=(Failure.BAD_RECORD,),
    ).example(
        'table("visits").as(Visit)',
        '{"page": "/", "seconds": 3}',
        'dead letter (bad_record): {"page":null,"seconds":5}',
        declares="record Visit { page: string, seconds: int? }",
        files={"visits": '{"page": "/", "seconds": 3}\n{"page": null, "seconds": 5}\n'},
    ),
    Operator(
        "socket",
        role=Role.SOURCE,
        takes=(),
        arguments=(Argument("address", "string"), _FORMAT, option("separator", "string"), _ENVELOPE),
        gives="raw records, unbounded; text gives Stream<Line>",
        meaning="lines from a TCP server, until it closes",
        exchange="none",
        stateful=True,
        failures=(Failure.BAD_RECORD,),
        spark=_SPARK_UNBOUNDED,
    ).example(
        'visits = socket("localhost:9000", format = json).as(Visit)\nvisits.to(out)',
        'out: {"page": "/"}',
        'out: {"page": "/docs"}',
        declares='record Visit { page: string }\n\nsink out = parquet("out")',
        unit="stream",
        files={"localhost:9000": ('{"page": "/"}\n{"page": "/docs"}\n')},
    ),
    Operator(
        "memory",
        role=Role.SOURCE,
        takes=(),
        arguments=(Argument("rows", "rows"),),
        gives="Stream<T>, bounded",
        meaning="records written into the program",
        exchange="none",
        stateful=True,
    ).example(
        'memory([{ page: "/", n: 1 }, { page: "/docs", n: 2 }])', '{"page": "/", "n": 1}', '{"page": "/docs", "n": 2}'
    ),
    Operator(
        "generate",
        role=Role.SOURCE,
        takes=(),
        arguments=(option("rows", "int"), option("rate", "float"), option("start", "time"), option("step", "duration")),
        gives="Stream<{number: int, time: timestamp}>, bounded when rows is given",
        meaning='a clock of numbered records, from start ("2026-01-02T03:04:05Z"; 1970 without) on',
        exchange="none",
        stateful=True,
    ).example(
        'generate(rows = 2, start = "2026-03-01T00:00:00Z", step = 1m)',
        '{"number": 0, "time": "2026-03-01T00:00:00.000000Z"}',
        '{"number": 1, "time": "2026-03-01T00:01:00.000000Z"}',
    ),
    Operator(
        "sql",
        role=Role.SOURCE,
        takes=(),
        arguments=(
            Argument("connection", "string"),
            Argument("table", "string", required=False),
            option("query", "string"),
            option("split", "string"),
            option("parts", "int"),
        ),
        gives="raw records, bounded",
        meaning=(
            "the rows of a table, or of a query, in the database of a connection that ghcm.toml names; a row is read "
            "as the JSON object of the same content would be, whose fields are its columns. With split = a column of "
            "numbers or times its range is read in parts (4 where parts does not say how many) at the same time, a "
            "partition each. What the database holds is not to change until all of it is read: a restart goes on "
            "behind the rows that it had read, in the order of split and of the primary key, or of all columns"
        ),
        exchange="none",
        stateful=True,
        failures=(Failure.BAD_RECORD,),
    )
    .example(
        'sql("shop", "visits", split = "seconds", parts = 2).as(Visit)',
        '{"page": "/", "seconds": 3}',
        '{"page": "/docs", "seconds": 5}',
        declares="record Visit { page: string, seconds: int }",
        files={"shop: visits": '{"page":"/","seconds":3}\n{"page":"/docs","seconds":5}\n'},
    )
    .example(
        'sql("shop", "visits").as(Visit)',
        '{"page": "/", "seconds": 3}',
        '{"page": "/docs", "seconds": null}',
        'dead letter (bad_record): {"page":"/prices","seconds":"many"}',
        declares="record Visit { page: string, seconds: int? }",
        files={
            "shop: visits": (
                '{"page":"/","seconds":3}\n{"page":"/docs","seconds":null}\n{"page":"/prices","seconds":"many"}\n'
            )
        },
    ),
    Operator(
        "kafka",
        role=Role.SOURCE,
        takes=(),
        arguments=(
            Argument("topic", "string", required=False),
            option("pattern", "string"),
            _MESSAGE_FORMAT,
            option("separator", "string"),
            _ENVELOPE,
            option("schema", "string"),
            option("schema_id", "int"),
            option("start", "time or offsets", "earliest", "latest"),
            option("until", "name", "latest"),
            option("lost", "name", "fail", "earliest"),
            *(option(word, "field") for word in PARTS),
        ),
        gives="raw records, unbounded without until; text gives Stream<Line>",
        meaning=(
            "the messages of a topic, or of all topics whose whole names match a pattern, each of which is one "
            "record: a JSON object; cells of CSV in the order of the fields, without a header; Avro, written with the "
            "schema of a file (schema = 'visit.avsc') and, where schema_id is said, behind the header of a registry "
            "in which the schema has this number; the value as it is (raw), in the one field that is left for it; or "
            "a text, of which Line has topic and partition as file and the offset as number. A field that is named "
            "for it (key = user) holds the key, the timestamp, the headers, the topic (origin), the partition or the "
            "offset of the message, and nothing of its value. A message that is no record, has no value, or lacks "
            "what a field needs is a dead letter with its offset; with deleted = gone the field gone says whether a "
            "message has no value (a tombstone), and the fields of its value are null. Envelopes of Debezium (format = "
            "debezium, of files and sockets too) give the record of the row after an operation, of a deletion that "
            "before it, with facts of the envelope in fields whose path begins with two underscores (op: string from "
            "'__op', at: int from '__ts_ms', '__source.table'); envelope = 'payload' says where it stands in the "
            "value; tombstones and operations on no row are passed over, and one without its row is a dead letter. "
            "Reading begins with the earliest messages that are "
            "there, with those that come from now on (start = latest), with those of a time, or at the offsets that "
            "are said of partitions (start = [(0, 1200), (1, 900)]); until = latest ends with those that are there "
            "when it begins. A batch unit has to say that, and each of its calls reads them anew; in a stream unit "
            "positions are part of snapshots: a restart goes on where it was, whatever consumer groups say. Each "
            "partition of a topic has its own event time (event_time has idle for those of which nothing comes); "
            "partitions, and topics that match, which are added later are read from their beginning, "
            "and their event time begins where that of the others is. Where a topic no longer holds the message that "
            "comes next, the unit fails, or (lost = earliest) goes on with the oldest that is there and says so in "
            "the log; messages of transactions count once they are committed"
        ),
        exchange="none",
        stateful=True,
        failures=(Failure.BAD_RECORD,),
    ).example(
        'visits = kafka("visits", format = json).as(Visit)\nvisits.to(out)',
        'out: {"page": "/"}',
        'out: {"page": "/docs"}',
        declares='record Visit { page: string }\n\nsink out = parquet("out")',
        unit="stream",
        files={"visits": ('{"page": "/"}\n{"page": "/docs"}\n')},
    ),
)


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
            "quotes for an empty text; only where a record has one field alone both are null when they are read"
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
        revises=True,
        role=Role.END,
        arguments=(
            Argument("call", "call"),
            option("every", "int or duration"),
            option("when", "lambda1"),
            option("on", "name", "window_close", "completion"),
            option("at_end", "bool"),
            option("throttle", "duration"),
            option("key", "lambda1"),
        ),
        gives="nothing",
        meaning=(
            "calls a responsive unit by a policy. With throttle = 1m a record for which when is true publishes only a "
            "minute or more of event time behind the last one that did, of the same key where key = r => ... says what "
            "that is; what comes between is part of the next call's aggregates"
        ),
        exchange="global",
        stateful=True,
        columnar=NotYet("a policy counts row by row"),
    )
    .example(
        (
            "events = memory([{ n: 1 }, { n: 2 }, { n: 3 }])\n"
            "events.to(lake).publish(rebuild(since = min(n)), every = 2, at_end = true)"
        ),
        'lake: {"n": 1}',
        'lake: {"n": 2}',
        'lake: {"n": 3}',
        'call rebuild: {"since": 1}',
        'call rebuild: {"since": 3}',
        declares=(
            'sink lake = parquet("lake", mode = append)\n'
            "\n"
            "responsive batch rebuild(since: int) {\n"
            "  lake.read().filter(e => e.n >= since).reply()\n"
            "}"
        ),
        unit="stream",
    )
    .example(
        "events = memory([{ n: 1 }, { n: 20 }, { n: 3 }])\nevents.publish(look(most = max(n)), when = e => e.n > 10)",
        'call look: {"most": 20}',
        declares="responsive batch look(most: int) {\n  memory([{ n: 1 }]).filter(r => r.n < most).reply()\n}",
        unit="stream",
    )
    .example(
        "events = memory([{ n: 1 }, { n: 20 }])\nevents.to(lake).publish(look(most = max(n)), on = completion)",
        'lake: {"n": 1}',
        'lake: {"n": 20}',
        'call look: {"most": 20}',
        declares=(
            'sink lake = parquet("lake", mode = append)\n\n'
            "responsive batch look(most: int) {\n  lake.read().filter(r => r.n < most).reply()\n}"
        ),
        unit="batch",
    )
    .example(
        (
            "events = memory([{ at: 1 }, { at: 2 }, { at: 15 }])\n"
            "sums = events.event_time(e => from_seconds(e.at), disorder = 1s).window(tumbling(10s)).count()\n"
            "sums.publish(look(most = max(value)), on = window_close)"
        ),
        'call look: {"most": 2}',
        'call look: {"most": 1}',
        declares="responsive batch look(most: int) {\n  memory([{ n: 1 }]).filter(r => r.n < most).reply()\n}",
        unit="stream",
    )
    .example(
        (
            'events = memory([{ s: 0, host: "a" }, { s: 9, host: "b" }, { s: 50, host: "a" }, { s: 70, host: "a" }])'
            ".event_time(e => from_seconds(e.s))\n"
            "events.publish(look(n = count()), when = e => e.s >= 0, throttle = 1m, key = e => e.host)"
        ),
        *('call look: {"n": 1}', 'call look: {"n": 1}', 'call look: {"n": 2}'),
        declares="responsive batch look(n: int) {\n  memory([{ n: 1 }]).filter(r => r.n < n).reply()\n}",
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
