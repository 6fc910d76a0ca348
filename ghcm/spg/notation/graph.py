"""Tasks, sinks, caches and units as lines of text: printing.

Reading is in `ghcm.spg.text`; `ghcm.spg.text` describes the form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, assert_never, cast

from ghcm.spg.connectors import Connector
from ghcm.spg.forms import Anything, Choice, Each, EnumOf, Form, Many, Optional, Plain, TypeOf, form_of, parts_of
from ghcm.spg.graph import Broadcast, Exchange, Forward, Global, Hash, Input, Program, Rebalance, Sink, Task, Unit
from ghcm.spg.notation.expressions import print_expr, print_lambda
from ghcm.spg.notation.natural import Scope
from ghcm.spg.notation.nodes import print_node
from ghcm.spg.notation.tokens import is_word, quoted, word_or_quoted
from ghcm.spg.notation.types import print_fields, print_type, print_value
from ghcm.spg.ops import Fused, Iterate, Op, Stage, Until
from ghcm.types import Collection, List, Map, Nullable, Struct, Type

OP, CONNECTOR = form_of(Op), form_of(Connector)
UNTIL = form_of(Until)
STAGE_OP = next(part.form for part in parts_of(Stage) if part.name == "op")
_TYPE_WORDS = "bool int int32 float decimal string bytes timestamp date duration null list map"
_RESERVED = frozenset((*_TYPE_WORDS.split(), "if", "then", "else", "and", "or", "not", "is", "true", "false"))


def lines_of(program: Program) -> Iterator[str]:
    """The lines of the program's text."""
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
        connector = print_node(CONNECTOR, cache.connector, scope)
        yield f"cache {word_or_quoted(cache.name)} = {connector}  # {cache.origin}"
    yield from (_sink_line(sink, scope) for sink in program.sinks)
    for unit in program.units:
        yield ""
        yield from _unit_lines(unit, texts)


def _sink_line(sink: Sink, scope: Scope) -> str:
    key = f" key {print_lambda(sink.key, scope)}" if sink.key else ""
    element = print_type(sink.element, scope.texts)
    connector = print_node(CONNECTOR, sink.connector, scope)
    return f"sink {word_or_quoted(sink.name)}: {element} = {connector} {sink.mode.value}{key}  # {sink.origin}"


def _unit_lines(unit: Unit, texts: dict[str, str]) -> Iterator[str]:
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
    yield f"{heading}  # {unit.origin}"
    for task in unit.tasks:
        yield from _task_lines(task, scope)


def _task_lines(task: Task, scope: Scope, margin: str = "  ") -> Iterator[str]:
    """A task in a line; the stages of a fused one and the tasks of an iteration stand below it, behind bars."""
    count = f" x{task.parallelism}" if task.parallelism != 1 else ""
    inputs = f" <- {', '.join(map(_input, task.inputs))}" if task.inputs else ""
    marks = (" named" if task.named else "") + (f" calls {task.calls}" if task.calls != 1 else "")
    op = _op(task.op, scope)
    collection = _collection(task.collection, scope)
    yield f"{margin}{_id(task.id)}{count} = {op}{inputs} : {collection}{marks}  # {task.origin}"
    for stage in task.op.stages if isinstance(task.op, Fused) else ():
        element = print_type(stage.element, scope.texts)
        yield f"{margin}  | {_id(stage.id)} = {print_node(STAGE_OP, stage.op, scope)} : {element}  # {stage.origin}"
    for inner in task.op.tasks if isinstance(task.op, Iterate) else ():
        yield from _task_lines(inner, scope, f"{margin}  | ")


def _op(op: Op, scope: Scope) -> str:
    match op:
        case Fused():
            return "fused"
        case Iterate(result=result, limit=limit, until=until):
            end = "" if until is None else f", until = {print_node(UNTIL, until, scope)}"
            return f"iterate({_id(result)}, {print_expr(limit, scope)}{end})"
        case _:  # the others hold no tasks, and are printed by their fields
            return print_node(OP, op, scope)


def _id(id: str) -> str:
    return id if all(map(is_word, id.split("."))) else quoted(id)


def _input(edge: Input) -> str:
    exchange = print_exchange(edge.exchange)
    return f"{_id(edge.producer)}{' ' if exchange else ''}{exchange}"


def print_exchange(exchange: Exchange, column: Callable[[str], str] = word_or_quoted) -> str:
    """An exchange in a few words, with its columns as `column` writes them; nothing for records that stay."""
    match exchange:
        case Forward():
            return ""
        case Hash(columns=columns):
            return f"hash({', '.join(map(column, columns))})"
        case Broadcast() | Rebalance() | Global():
            return type(exchange).__name__.lower()
        case _:
            assert_never(exchange)


def _collection(collection: Collection, scope: Scope) -> str:
    marks = ["bounded" if collection.bounded else "unbounded"]
    marks += ["timed"] if collection.timed else []
    marks += ["windowed"] if collection.windowed else []
    return f"{collection.shape.value}<{print_type(collection.element, scope.texts)}> {' '.join(marks)}"


# --- the records that the program mentions ---------------------------------------------------------------------------


def _records(program: Program) -> dict[str, Struct]:
    """The named structs of a program by alias, parts before wholes; of two with one name the second is `Name~2`."""
    found: dict[str, Struct] = {}
    for type_ in _types(form_of(Program), program):
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


def _types(form: Form, value: object) -> Iterator[Type]:
    match form:
        case TypeOf():
            yield cast("Type", value)
        case Plain() | EnumOf() | Anything():
            pass
        case Optional(of=of):
            if value is not None:
                yield from _types(of, value)
        case Many(of=of):
            for each in cast("tuple[object, ...]", value):
                yield from _types(of, each)
        case Each(of=several):
            for of, each in zip(several, cast("tuple[object, ...]", value), strict=True):
                yield from _types(of, each)
        case Choice():
            for part in parts_of(cast("Any", type(value))):
                yield from _types(part.form, getattr(value, part.name))
        case _:
            assert_never(form)
