"""The table of the operators of the language: what each takes, gives, keeps, how it can fail and which engines run it.

The checker, the reference documentation and the conformance tests are driven by it. Type rules that need more than the table says live in
`ghcm.lowering`, one function per operator, and a test holds them total over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from ghcm.aggregates import AGGREGATES
from ghcm.functions import Failure
from ghcm.support import YES, Engine, Never, NotYet, Support
from ghcm.types import Shape

ENGINE_OF_STREAMS = "belongs to the issue of the native engine's streams; a batch unit has it"
"""What the reference and Spark have, and the native engine has not so far."""


class Role(Enum):
    """Where in a pipeline it stands."""

    SOURCE = "source"
    TRANSFORM = "transform"
    END = "end"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument. `kind`: what may stand there. `positional`: may be given without its name. Lambdas say their arity."""

    name: str
    kind: Literal[
        "lambda1",
        "lambda2",
        "duration",
        "int",
        "float",
        "string",
        "name",
        "collection",
        "record",
        "window",
        "aggregate",
        "call",
        "bool",
        "time",
        "int or duration",
        "any",
        "sink",
        "rows",
    ]
    required: bool = True
    positional: bool = True
    choices: tuple[str, ...] = ()
    repeated: bool = False
    """Any number of these (positional), or any names (`aggregate_by_key(n = count())`)."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator. `takes`: the shapes of its input (empty for sources). `gives`: the output, for people."""

    name: str
    role: Role
    takes: tuple[Shape, ...]
    arguments: tuple[Argument, ...]
    gives: str
    meaning: str
    exchange: Literal["none", "forward", "hash", "global"]
    stateful: bool
    needs_bounded: bool
    failures: tuple[Failure, ...]
    reference: Support
    row: Support
    columnar: Support
    spark: Support

    def support(self, engine: Engine) -> Support:
        """What that engine says to it."""
        match engine:
            case Engine.REFERENCE:
                return self.reference
            case Engine.ROW:
                return self.row
            case Engine.COLUMNAR:
                return self.columnar
            case Engine.SPARK:
                return self.spark


_STREAM, _PAIRS, _TABLE = Shape.STREAM, Shape.PAIRS, Shape.TABLE
_ALL = (_STREAM, _PAIRS, _TABLE)
_FLOWING = (_STREAM, _PAIRS)
_F = Failure
_EXPRESSION = (_F.OVERFLOW, _F.ZERO_DIVISOR, _F.BAD_CAST, _F.OUT_OF_RANGE, _F.BAD_PATTERN)
_BY_ROW = Never("a Python function by row has no columnar form; one by batch has")
_SPARK_UNBOUNDED = Never("a batch job cannot read input that never ends")
_LANGUAGE = "waits for the issue that completes the language"


def _not_yet(reason: str = _LANGUAGE) -> dict[str, Support]:
    waits = NotYet(reason)
    return {"reference": waits, "row": waits, "columnar": waits, "spark": waits}


def _everywhere(**other: Support) -> dict[str, Support]:
    return {"reference": YES, "row": YES, "columnar": YES, "spark": YES} | other


def _op(  # noqa: PLR0913  one argument for each column of the table
    name: str,
    role: Role,
    takes: tuple[Shape, ...],
    arguments: tuple[Argument, ...],
    gives: str,
    meaning: str,
    support: dict[str, Support],
    *,
    exchange: Literal["none", "forward", "hash", "global"] = "forward",
    stateful: bool = False,
    needs_bounded: bool = False,
    failures: tuple[Failure, ...] = (),
) -> Operator:
    return Operator(
        name, role, takes, arguments, gives, meaning, exchange, stateful, needs_bounded, failures, **support
    )


_S, _T, _E = Role.SOURCE, Role.TRANSFORM, Role.END
_FN = Argument("function", "lambda1")
_LINES = ("json", "csv", "tsv", "zeek", "eve", "text")
_FORMAT = Argument("format", "name", required=False, positional=False, choices=_LINES)
_FILE_FORMAT = Argument("format", "name", required=False, positional=False, choices=(*_LINES, "parquet", "arrow"))
_SEPARATOR = Argument("separator", "string", required=False, positional=False)
_COMPRESSION = Argument("compression", "name", required=False, positional=False, choices=("gzip", "zstd", "none"))
_CLOCK = Argument("clock", "name", required=False, positional=False, choices=("restarts", "continues"))
_FOLLOW = Argument("follow", "bool", required=False, positional=False)
_TAIL = Argument("tail", "bool", required=False, positional=False)
_DESCENDING = Argument("descending", "bool", required=False, positional=False)

_TABLE_OF_OPERATORS = (
    # sources
    _op("files", _S, (), (Argument("path", "string"), _FILE_FORMAT, _SEPARATOR, _COMPRESSION, _CLOCK, _FOLLOW, _TAIL), "raw records, bounded without follow and tail; text gives Stream<Line>", "records of files by path, directory or glob, in the order of their names; text is UTF-8, a byte order mark before it is passed over; CSV and TSV are as in RFC 4180, quotes included, with a header line; event time restarts in each file (a partition each) or continues (one partition); with follow also of files that appear later, each read once when it is whole; with tail, which includes follow, of files that grow, such as logs: each line is read when its newline is there, so that an unfinished last line waits, also over a stop; a file is known by where it is on the disk and by what it began with and last held, so that one that is renamed, or copied and then cut (copytruncate), is read to its end and its successor from its beginning, and a restart goes on where it was; packed files are left out. A new file that holds nothing but what another one begins with waits until it differs, five seconds at most, as it may be a copy; what was cut or removed before it was read is said in the log", _everywhere(), exchange="none", stateful=True, failures=(_F.BAD_RECORD,)),
    _op("socket", _S, (), (Argument("address", "string"), _FORMAT, _SEPARATOR), "raw records, unbounded; text gives Stream<Line>", "lines from a TCP server, until it closes", _everywhere(spark=_SPARK_UNBOUNDED), exchange="none", stateful=True, failures=(_F.BAD_RECORD,)),
    _op("memory", _S, (), (Argument("rows", "rows"),), "Stream<T>, bounded", "records written into the program", _everywhere(), exchange="none", stateful=True),
    _op("generate", _S, (), (Argument("rows", "int", required=False, positional=False), Argument("rate", "float", required=False, positional=False), Argument("start", "time", required=False, positional=False), Argument("step", "duration", required=False, positional=False)), "Stream<{number: int, time: timestamp}>, bounded when rows is given", "a clock of numbered records, from start (\"2026-01-02T03:04:05Z\"; 1970 without) on", _everywhere(), exchange="none", stateful=True),
    _op("kafka", _S, (), (Argument("topic", "string"), _FORMAT), "raw records, unbounded", "records of a topic", _not_yet("waits for the issue that brings Kafka"), exchange="none", stateful=True, failures=(_F.BAD_RECORD,)),
    # rows
    _op("as", _T, (_STREAM,), (Argument("record", "record"),), "Stream<R>", "decodes raw records; what does not fit is a dead letter", _everywhere(), failures=(_F.BAD_RECORD,)),
    _op("event_time", _T, (_STREAM,), (Argument("time", "lambda1"), Argument("disorder", "duration", required=False, positional=False), Argument("idle", "duration", required=False, positional=False)), "the same, with event time", "declares when a record happened and how far records may come out of order. A partition that is silent holds event time back, so that no window closes, for ever or, with idle = 30s, until nothing came of it for so long by the clock of the unit (stream units): its watermark then goes on with the least of those partitions that are not idle and whose records it may meet, and when it speaks again, what it gives is late where windows have closed. Which records are late may then depend on the clock; without idle it never does. While all are silent, or have ended, nothing closes but what those that ended had come to; after a restart silence is counted anew", _everywhere(), stateful=True, failures=(*_EXPRESSION, _F.NULL_TIME)),
    _op("filter", _T, _FLOWING, (Argument("predicate", "lambda1"),), "the same", "keeps the records for which the predicate is true", _everywhere(), failures=_EXPRESSION),
    _op("map", _T, _FLOWING, (_FN,), "Stream<U>", "one record for one record", _everywhere(), failures=_EXPRESSION),
    _op("flat_map", _T, _FLOWING, (_FN,), "Stream<U>", "the items of a list for one record", _everywhere(), failures=_EXPRESSION),
    _op("map_to_pair", _T, _FLOWING, (_FN,), "Pairs<K, V>", "a pair (key, value) for one record", _everywhere(), failures=_EXPRESSION),
    _op("map_values", _T, (_PAIRS,), (_FN,), "Pairs<K, U>", "a new value under the same key", _everywhere(), failures=_EXPRESSION),
    _op("key_by", _T, (_STREAM,), (_FN,), "Pairs<K, T>", "the record itself under a key made from it", _everywhere(), failures=_EXPRESSION),
    _op("python", _T, _FLOWING, (Argument("function", "string"), Argument("by", "name", required=False, positional=False, choices=("row", "batch"))), "Stream<U>, the type behind the colon", "a user's Python function, which gives one record for one record: by row it is called with one (a named tuple, r.page, or the value itself where records have no fields), by batch with a pyarrow table of many, and gives a table, an array or a list of as many; of a batch that fails only the bad records are dead letters", _everywhere(columnar=_BY_ROW), failures=(_F.PYTHON, _F.WRONG_RESULT)),
    _op("union", _T, _FLOWING, (Argument("others", "collection", repeated=True),), "the same", "all records of all inputs", _everywhere()),
    _op("sample", _T, _FLOWING, (Argument("fraction", "float"), Argument("seed", "int", required=False, positional=False)), "the same", "a part of the records by a hash of their fields and the seed, so that equal records stay together and every run and engine gives the same", _everywhere(columnar=Never("it goes by MD5, and Polars has hashes of its own only"))),
    # windows
    _op("window", _T, _FLOWING, (Argument("assigner", "window"), Argument("allowed_lateness", "duration", required=False, positional=False)), "the same with the column window", "puts records into windows of event time; a record is in each of its windows that its partition's watermark has not closed, and a dead letter where there is none. Windows begin at multiples of their distance since 1970, or so much later with tumbling(1d, offset = 22h), whose days are those of clocks two hours ahead. With tumbling(10s, time = processing), or a sliding one, it goes by the clock when a record comes, needs no event time, and nothing is late; windows close by the clock whether records come or not (stream units). A session(gap) holds what comes less than the gap after the record before, of all records or of those of a key where these are pairs, and ends a gap behind its last one (batch units); what comes so late that its own session would have ended is a dead letter", _everywhere(), failures=(_F.LATE,)),
    # groups
    _op("reduce_by_key", _T, (_PAIRS,), (Argument("function", "lambda2"), Argument("order", "lambda1", required=False, positional=False)), "Pairs<K, V>, or Table<K, V> of unbounded unwindowed input", "one value per key; what is proven to be associative and commutative is a + b of numbers, min, max, and, or, and tuples and records of these, for anything else it is said, @associative @commutative (a, b) => ... (in Python @associative and @commutative above a def), or order = v => ... makes it a fold over the values in that order; with a name, in a stream unit, what input that ends gives is both: a table while the unit runs, which is read, looked up and written to sinks of mode upsert, and pairs at the end for every other operator and for sinks of mode append", _everywhere(), exchange="hash", stateful=True, failures=_EXPRESSION),
    _op("aggregate_by_key", _T, (_PAIRS,), (Argument("aggregates", "aggregate", repeated=True),), "Pairs<K, {...}>, or Table", f"named aggregates per key, as pairs and tables like reduce_by_key: {' '.join(each.value for each in AGGREGATES)}", _everywhere(), exchange="hash", stateful=True, failures=_EXPRESSION),
    _op("group_by_key", _T, (_PAIRS,), (), "Pairs<K, list<V>>, or Table", "the values of a key as a list in ascending order", _everywhere(), exchange="hash", stateful=True),
    _op("count", _T, _FLOWING, (), "Pairs<K, int> of pairs, Stream<int> of a stream; or Table", "how many", _everywhere(), exchange="hash", stateful=True),
    _op("distinct", _T, _FLOWING, (), "the same", "each different record once", _everywhere(), exchange="hash", stateful=True),
    _op("sort", _T, _FLOWING, (Argument("by", "lambda1"), _DESCENDING), "the same", "in order", _everywhere(), exchange="global", stateful=True, needs_bounded=True, failures=_EXPRESSION),
    _op("top", _T, _FLOWING, (Argument("count", "int"), Argument("by", "lambda1"), Argument("ascending", "bool", required=False, positional=False)), "the same", "the greatest by a value, of each window where records are in windows; other input is bounded", _everywhere(), exchange="global", stateful=True, failures=_EXPRESSION),
    _op("join", _T, _FLOWING, (Argument("other", "collection"), Argument("on", "lambda2", required=False, positional=False), Argument("kind", "name", required=False, positional=False, choices=("inner", "left", "right", "full", "semi", "anti")), Argument("within", "duration", required=False, positional=False), Argument("asof", "bool", required=False, positional=False)), "Stream<{left, right}>, or Pairs<K, {left, right}> of pairs, in windows if they are; the left records of semi and anti", "records of both inputs that belong together; left, right and full keep those without a partner, with a null in its place; semi gives left records that have one, anti those that have none; null keys have none. A stream that never ends is looked up record by record: in another input, for whose end it waits, or in what a table has given on when the record comes (inner, left, semi, anti). Within an interval, event times are at most so far apart; with asof = true a left record meets only the latest right record at or before its own time (and within the interval; of several at that time the greatest; inputs that end). Pairs in windows are joined by key and window, and give {key, value, window}", _everywhere(), exchange="hash", stateful=True, failures=_EXPRESSION),
    _op("iterate", _T, _FLOWING, (Argument("step", "lambda1"), Argument("until", "lambda2", required=False, positional=False), Argument("limit", "int", positional=False)), "the same, without event time", "a pipeline that each round runs on what the round before gave, until totals of the two compare as asked or the limit is reached", _everywhere(), exchange="global", stateful=True, needs_bounded=True, failures=_EXPRESSION),
    _op("changes", _T, (_TABLE,), (), "Pairs<K, V>", "a table as records that flow on: at each commit the pairs of the keys whose value is another than at the commit before, so that those of a key come in order, never the same value twice in a row, and the last one is its final value; values that came and went between two commits are not seen", _everywhere(columnar=Never("what a table gives at a commit is rows already"), spark=Never("aggregations in a batch unit give final pairs, which flow on without changes()")), exchange="hash", stateful=True),
    # ends and reads
    _op("read", _S, (_TABLE,), (Argument("key", "any", required=False),), "a sink's records as Stream<T>; a table's as Pairs<K, V>; bounded", "the latest complete version of a sink, or a copy of a table's state", _everywhere(), exchange="none", failures=(_F.BAD_RECORD,)),
    _op("to", _E, _ALL, (Argument("sink", "sink"),), "the same, for publish", "writes to a sink; in a field of CSV that may be null nothing stands for null and a pair of quotes for an empty text, and both are null when they are read: use JSON or Parquet where they differ", _everywhere()),
    _op("publish", _E, _FLOWING, (Argument("call", "call"), Argument("every", "int or duration", required=False, positional=False), Argument("when", "lambda1", required=False, positional=False), Argument("on", "name", required=False, positional=False, choices=("window_close", "completion")), Argument("at_end", "bool", required=False, positional=False)), "nothing", "calls a responsive unit by a policy", _everywhere(columnar=NotYet("a policy counts row by row")), exchange="global", stateful=True),
    _op("reply", _E, _FLOWING, (), "nothing", "the result of the call", _everywhere()),
    _op("named", _T, _ALL, (Argument("name", "string"),), "the same", "names the task before it", _everywhere()),
)  # fmt: skip

OPERATORS: dict[str, Operator] = {operator.name: operator for operator in _TABLE_OF_OPERATORS}
