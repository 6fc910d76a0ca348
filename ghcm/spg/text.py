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

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any, Literal, TypeVar, assert_never, cast, get_args

from ghcm.expr import Lambda
from ghcm.source import Origin
from ghcm.spg import graph, ops
from ghcm.spg.connectors import Connector, Mode
from ghcm.spg.forms import form_of, parts_of
from ghcm.spg.notation.expressions import print_expr, print_lambda, read_expr, read_lambda
from ghcm.spg.notation.natural import Scope
from ghcm.spg.notation.nodes import print_node, read_node
from ghcm.spg.notation.tokens import Tokens, is_word, quoted, word_or_quoted
from ghcm.spg.notation.types import print_fields, print_type, print_value, read_struct, read_type, read_value
from ghcm.types import Collection, List, Map, Nullable, Shape, Struct, Type

_OP, _CONNECTOR = form_of(ops.Op), form_of(Connector)
_UNTIL = form_of(ops.Until)
_STAGE_OP = next(part.form for part in parts_of(ops.Stage) if part.name == "op")
_TYPE_WORDS = "bool int int32 float decimal string bytes timestamp date duration null list map"
_RESERVED = frozenset((*_TYPE_WORDS.split(), "if", "then", "else", "and", "or", "not", "is", "true", "false"))
_T = TypeVar("_T")


def print_program(program: graph.Program) -> str:
    """The program as text; `parse_program` gives it back, positions, records' names and paths of fields included."""
    return "\n".join(_lines(program)) + "\n"


def parse_program(text: str) -> graph.Program:
    """The inverse of `print_program`; ValueError says line, column and what was expected."""
    return Reader(Tokens(text)).program()


# --- printing ---------------------------------------------------------------------------------------------------------


def _lines(program: graph.Program) -> Iterator[str]:
    records = _records(program)
    texts = {print_type(type_): alias for alias, type_ in records.items()}
    yield f"program {word_or_quoted(program.name)}"
    if records:
        yield ""
    for alias, type_ in records.items():
        yield f"record {alias} {print_fields(type_, {text: name for text, name in texts.items() if name != alias})}"
    scope = Scope(texts=texts)
    if program.caches or program.sinks:
        yield ""
    for cache in program.caches:
        connector = print_node(_CONNECTOR, cache.connector, scope)
        yield f"cache {word_or_quoted(cache.name)} = {connector}  # {cache.origin}"
    yield from (_sink_line(sink, scope) for sink in program.sinks)
    for unit in program.units:
        yield ""
        yield from _unit_lines(unit, texts)


def _sink_line(sink: graph.Sink, scope: Scope) -> str:
    key = f" key {print_lambda(sink.key, scope)}" if sink.key else ""
    element = print_type(sink.element, scope.texts)
    connector = print_node(_CONNECTOR, sink.connector, scope)
    return f"sink {word_or_quoted(sink.name)}: {element} = {connector} {sink.mode.value}{key}  # {sink.origin}"


def _unit_lines(unit: graph.Unit, texts: dict[str, str]) -> Iterator[str]:
    scope = Scope(texts=texts, parameters={each.name: each.type for each in unit.parameters})
    parameters = [
        f"{word_or_quoted(each.name)}: {print_type(each.type, texts)}"
        + ("" if each.required else f" = {print_value(each.default)}")
        for each in unit.parameters
    ]
    heading = f"{'responsive ' if unit.responsive else ''}{unit.kind} {word_or_quoted(unit.name)}"
    heading += f"({', '.join(parameters)})" if parameters else ""
    heading += f" on {word_or_quoted(unit.cache)}" if unit.cache is not None else ""
    heading += f" engine {word_or_quoted(unit.engine)}" if unit.engine != "auto" else ""
    heading += f" parallelism {unit.parallelism}" if unit.parallelism is not None else ""
    yield f"{heading}  # {unit.origin}"
    for task in unit.tasks:
        yield from _task_lines(task, scope)


def _task_lines(task: graph.Task, scope: Scope, margin: str = "  ") -> Iterator[str]:
    """A task in a line; the stages of a fused one and the tasks of an iteration stand below it, behind bars."""
    count = f" x{task.parallelism}" if task.parallelism != 1 else ""
    inputs = f" <- {', '.join(map(_input, task.inputs))}" if task.inputs else ""
    marks = (" named" if task.named else "") + (f" calls {task.calls}" if task.calls != 1 else "")
    op = _op(task.op, scope)
    collection = _collection(task.collection, scope)
    yield f"{margin}{_id(task.id)}{count} = {op}{inputs} : {collection}{marks}  # {task.origin}"
    for stage in task.op.stages if isinstance(task.op, ops.Fused) else ():
        element = print_type(stage.element, scope.texts)
        yield f"{margin}  | {_id(stage.id)} = {print_node(_STAGE_OP, stage.op, scope)} : {element}  # {stage.origin}"
    for inner in task.op.tasks if isinstance(task.op, ops.Iterate) else ():
        yield from _task_lines(inner, scope, f"{margin}  | ")


def _op(op: ops.Op, scope: Scope) -> str:
    match op:
        case ops.Fused():
            return "fused"
        case ops.Iterate(result=result, limit=limit, until=until, known=known):
            end = "" if until is None else f", until = {print_node(_UNTIL, until, scope)}"
            end += "" if known is None else f", known = {_id(known)}"
            return f"iterate({_id(result)}, {print_expr(limit, scope)}{end})"
        case _:  # the others hold no tasks, and are printed by their fields
            return print_node(_OP, op, scope)


def _id(id: str) -> str:
    return id if all(map(is_word, id.split("."))) else quoted(id)


def _input(edge: graph.Input) -> str:
    exchange = print_exchange(edge.exchange)
    return f"{_id(edge.producer)}{' ' if exchange else ''}{exchange}"


def print_exchange(exchange: graph.Exchange, column: Callable[[str], str] = word_or_quoted) -> str:
    """An exchange in a few words, with its columns as `column` writes them; nothing for records that stay."""
    match exchange:
        case graph.Forward():
            return ""
        case graph.Hash(columns=columns):
            return f"hash({', '.join(map(column, columns))})"
        case graph.Broadcast() | graph.Rebalance() | graph.Global():
            return type(exchange).__name__.lower()
        case _:
            assert_never(exchange)


def _collection(collection: Collection, scope: Scope) -> str:
    marks = ["bounded" if collection.bounded else "unbounded"]
    marks += ["timed"] if collection.timed else []
    marks += ["windowed"] if collection.windowed else []
    marks += ["changing"] if collection.changing else []
    return f"{collection.shape.value}<{print_type(collection.element, scope.texts)}> {' '.join(marks)}"


# --- the records that the program mentions ---------------------------------------------------------------------------


def _records(program: graph.Program) -> dict[str, Struct]:
    """The named structs of a program by alias, parts before wholes; of two with one name the second is `Name~2`."""
    found: dict[str, Struct] = {}
    for type_ in _types(program):
        for struct in _structs(type_):
            found.setdefault(print_type(struct), struct)
    result: dict[str, Struct] = {}
    for struct in found.values():
        alias, count = str(struct.name), 1
        while alias in result:
            count += 1
            alias = f"{struct.name}~{count}"
        result[alias] = struct
    return result


def _structs(type_: Type) -> Iterator[Struct]:
    match type_:
        case Nullable(of=inner) | List(item=inner):
            yield from _structs(inner)
        case Map(key=key, value=value):
            yield from (*_structs(key), *_structs(value))
        case Struct(fields=fields):
            yield from (struct for part in fields for struct in _structs(part.type))
            if type_.name and is_word(type_.name) and type_.name not in _RESERVED:
                yield type_
        case _:  # the others hold no types
            pass


def _types(value: object) -> Iterator[Type]:
    """The types that stand in a node of the SPG, in the order of its fields."""
    if isinstance(value, get_args(Type)):
        yield cast("Type", value)
    elif isinstance(value, tuple):
        yield from (found for each in cast("tuple[object, ...]", value) for found in _types(each))
    elif is_dataclass(value):
        yield from (found for part in parts_of(cast("Any", type(value))) for found in _types(getattr(value, part.name)))


# --- reading ----------------------------------------------------------------------------------------------------------

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
        return cast("Connector", read_node(_CONNECTOR, self.tokens, Scope(types=self.types)))

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
        parallelism = tokens.integer() if tokens.accept("parallelism") else None
        origin = self._origin()
        scope = Scope(types=self.types, parameters={each.name: each.type for each in parameters})
        tasks: list[graph.Task] = []
        while tokens.peek.kind != "end" and tokens.peek.column > 1:
            tasks.append(self._task(scope, 0))
        return graph.Unit(name, kind, responsive, parameters, cache, tuple(tasks), origin, engine, parallelism)

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
            return cast("ops.Op", read_node(_OP, tokens, scope))
        tokens.expect("iterate")
        tokens.expect("(")
        result = self._id()
        tokens.expect(",")
        limit = read_expr(tokens, scope)
        until: ops.Until | None = None
        known: str | None = None
        while tokens.accept(","):
            if tokens.accept("known"):
                tokens.expect("=")
                known = self._id()
                continue
            tokens.expect("until")
            tokens.expect("=")
            until = cast("ops.Until", read_node(_UNTIL, tokens, scope))
        tokens.expect(")")
        return ops.Iterate((), result, limit, until, known)

    def _stage(self, scope: Scope) -> ops.Stage:
        id = self._id()
        self.tokens.expect("=")
        op = read_node(_STAGE_OP, self.tokens, scope)
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
        marks = [tokens.accept(mark) for mark in ("timed", "windowed", "changing")]
        return Collection(shape, element, bounded, *marks)
