"""The SPG as text for people, for golden files and for `ghcm explain`: one line per task, and back again.

    program traffic

    record Flow {src: string from "id.orig_h", bytes: int}

    sink shares: {key: string, value: int} = redis("traffic:share") upsert key (r: {key: string, value: int}) => r.key

    stream monitor  # traffic.istream:9:1
      flows = source(files("flows/*.json", format("json"))) : stream<Flow> bounded named  # traffic.istream:10:3
      busy = filter((f: Flow) => f.bytes > 0) <- flows : stream<Flow> bounded  # traffic.istream:12:9

A line is `id xN = operation <- producer exchange, ... : collection`, where `xN` is the parallelism; comments are the
positions in the source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar, cast

from ghcm.expr import Lambda
from ghcm.source import Origin
from ghcm.spg import graph, ops
from ghcm.spg.connectors import Connector, Mode
from ghcm.spg.notation.expressions import read_expr, read_lambda
from ghcm.spg.notation.graph import CONNECTOR, OP, STAGE_OP, UNTIL, lines_of
from ghcm.spg.notation.natural import Scope
from ghcm.spg.notation.nodes import read_node
from ghcm.spg.notation.tokens import Tokens
from ghcm.spg.notation.types import read_struct, read_type, read_value
from ghcm.types import Collection, Shape, Type


def print_program(program: graph.Program) -> str:
    """The program as text; `parse_program` gives it back, positions, records' names and paths of fields included."""
    return "\n".join(lines_of(program)) + "\n"


def parse_program(text: str) -> graph.Program:
    """The inverse of `print_program`; ValueError says line, column and what was expected."""
    return Reader(Tokens(text)).program()


_T = TypeVar("_T")
_EXCHANGES: dict[str, Callable[[], graph.Exchange]] = {
    "broadcast": graph.Broadcast,
    "rebalance": graph.Rebalance,
    "global": graph.Global,
}


@dataclass(slots=True)
class Reader:
    """Reads one program; `types` grows with the records."""

    tokens: Tokens
    types: dict[str, Type] = field(default_factory=dict[str, Type])

    def program(self) -> graph.Program:
        """The whole text."""
        tokens = self.tokens
        tokens.skip_lines()
        tokens.expect("program")
        name = tokens.name()
        self._origin()
        caches: list[graph.Cache] = []
        sinks: list[graph.Sink] = []
        units: list[graph.Unit] = []
        while tokens.peek.kind != "end":
            if tokens.accept("record"):
                self._record()
            elif tokens.accept("cache"):
                caches.append(self._cache())
            elif tokens.accept("sink"):
                sinks.append(self._sink())
            else:
                units.append(self._unit())
        return graph.Program(name, tuple(caches), tuple(sinks), tuple(units))

    def _origin(self) -> Origin:
        """The source position in the comment at the end of a line; goes past everything up to the next line of text."""
        start = self.tokens.peek
        text = self.tokens.take().text[1:].strip() if start.kind == "comment" else ""
        if self.tokens.peek.kind not in ("newline", "end"):
            self.tokens.refuse("the end of the line")
        self.tokens.skip_lines()
        try:
            return Origin.parse(text)
        except ValueError:
            return Origin("", start.line, 1)

    def _record(self) -> None:
        alias = self.tokens.name()
        self.types[alias] = read_struct(self.tokens, self.types, alias.partition("~")[0])
        self._origin()

    def _cache(self) -> graph.Cache:
        return graph.Cache(self.tokens.named("="), self._connector(), self._origin())

    def _connector(self) -> Connector:
        return cast("Connector", read_node(CONNECTOR, self.tokens, Scope(types=self.types)))

    def _sink(self) -> graph.Sink:
        name, element = self.tokens.named(":"), read_type(self.tokens, self.types)
        self.tokens.expect("=")
        connector = self._connector()
        mode = Mode(self.tokens.name())
        key: Lambda | None = read_lambda(self.tokens, Scope(types=self.types)) if self.tokens.accept("key") else None
        return graph.Sink(name, connector, mode, key, element, self._origin())

    def _unit(self) -> graph.Unit:
        tokens = self.tokens
        responsive = tokens.accept("responsive")
        if not tokens.at("stream", "batch"):
            tokens.refuse('"record", "cache", "sink", "stream" or "batch"')
        kind = cast("Literal['stream', 'batch']", tokens.take().text)
        name = tokens.name()
        parameters = tuple(tokens.many(")", self._parameter)) if tokens.accept("(") else ()
        cache = tokens.name() if tokens.accept("on") else None
        engine = tokens.name() if tokens.accept("engine") else "auto"
        origin = self._origin()
        scope = Scope(types=self.types, parameters={each.name: each.type for each in parameters})
        tasks: list[graph.Task] = []
        while tokens.peek.kind != "end" and tokens.peek.column > 1:
            tasks.append(self._task(scope, 0))
        return graph.Unit(name, kind, responsive, parameters, cache, tuple(tasks), origin, engine)

    def _parameter(self) -> graph.Parameter:
        name, type_ = self.tokens.named(":"), read_type(self.tokens, self.types)
        given = self.tokens.accept("=")
        return graph.Parameter(name, type_, not given, read_value(self.tokens) if given else None)

    def _task(self, scope: Scope, bars: int) -> graph.Task:
        """A task behind so many bars, and what stands below it behind one more."""
        tokens = self.tokens
        id = self._id()
        count = tokens.take().text if tokens.peek.text.startswith("x") and tokens.peek.text[1:].isdecimal() else "x1"
        tokens.expect("=")
        op = self._op(scope)
        inputs: list[graph.Input] = []
        while tokens.accept("," if inputs else "<-"):
            inputs.append(self._input())
        tokens.expect(":")
        collection = self._collection()
        named = tokens.accept("named")
        calls = tokens.integer() if tokens.accept("calls") else 1
        origin = self._origin()
        if isinstance(op, ops.Fused):
            op = ops.Fused(tuple(self._below(bars, lambda: self._stage(scope))))
        elif isinstance(op, ops.Iterate):
            op = replace(op, tasks=tuple(self._below(bars, lambda: self._task(scope, bars + 1))))
        return graph.Task(id, op, tuple(inputs), collection, origin, int(count[1:]), named, calls)

    def _below(self, bars: int, read: Callable[[], _T]) -> Iterator[_T]:
        """What stands behind one bar more."""
        while all(self.tokens.ahead(index).text == "|" for index in range(bars + 1)):
            for _ in range(bars + 1):
                self.tokens.expect("|")
            yield read()

    def _op(self, scope: Scope) -> ops.Op:
        tokens = self.tokens
        if tokens.accept("fused"):
            return ops.Fused(())
        if not (tokens.at("iterate") and tokens.ahead(1).text == "("):
            return cast("ops.Op", read_node(OP, tokens, scope))
        tokens.expect("iterate")
        tokens.expect("(")
        result = self._id()
        tokens.expect(",")
        limit = read_expr(tokens, scope)
        until: ops.Until | None = None
        if tokens.accept(","):
            tokens.expect("until")
            tokens.expect("=")
            until = cast("ops.Until", read_node(UNTIL, tokens, scope))
        tokens.expect(")")
        return ops.Iterate((), result, limit, until)

    def _stage(self, scope: Scope) -> ops.Stage:
        id = self._id()
        self.tokens.expect("=")
        op = read_node(STAGE_OP, self.tokens, scope)
        self.tokens.expect(":")
        element = read_type(self.tokens, self.types)
        comment = self.tokens.take().text[2:] if self.tokens.peek.kind == "comment" else ""
        self.tokens.skip_lines()
        return ops.Stage(id, cast("ops.Filter", op), element, comment)

    def _id(self) -> str:
        if self.tokens.peek.kind == "string":
            return self.tokens.string()
        id = self.tokens.name()
        while self.tokens.accept("."):
            id += f".{self.tokens.name()}"
        return id

    def _input(self) -> graph.Input:
        producer = self._id()
        if self.tokens.peek.text in _EXCHANGES:
            return graph.Input(producer, _EXCHANGES[self.tokens.take().text]())
        if not self.tokens.accept("hash"):
            return graph.Input(producer, graph.Forward())
        self.tokens.expect("(")
        return graph.Input(producer, graph.Hash(tuple(self.tokens.many(")", self.tokens.name))))

    def _collection(self) -> Collection:
        tokens = self.tokens
        shape = Shape(tokens.name())
        tokens.expect("<")
        element = read_type(tokens, self.types)
        tokens.expect(">")
        bounded = tokens.accept("bounded")
        if not bounded:
            tokens.expect("unbounded")
        return Collection(shape, element, bounded, tokens.accept("timed"), tokens.accept("windowed"))
