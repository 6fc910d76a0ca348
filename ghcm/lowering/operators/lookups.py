"""`lookup`: records beside what a service outside has for their keys, and what the services are."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from ghcm.codes import Code
from ghcm.errors import every, sound, suggest
from ghcm.expr import Lambda, MakeStruct
from ghcm.language import ast
from ghcm.lowering.arguments import Given, match_arguments
from ghcm.lowering.context import Scope
from ghcm.lowering.drafts import RULES, Bound, Flow, Step, rule
from ghcm.lowering.expressions.constants import NotConstant, constant
from ghcm.lowering.expressions.functions import whole
from ghcm.lowering.expressions.records import fits
from ghcm.lowering.operators.joins import put_together
from ghcm.operators import Argument
from ghcm.operators.operator import option
from ghcm.spg.graph import Forward
from ghcm.spg.ops import Lookup, Map
from ghcm.spg.services import PLACE, GivenRows, HttpObject, RedisKey, Service, SqlRow
from ghcm.types import Bool, Field, Int, Int32, Nullable, Shape, String, Struct, Type, strip

_SERVICES: Mapping[str, tuple[Argument, ...]] = {
    "redis": (Argument("place", "string"), option("form", "name", "json", "hash")),
    "sql": (Argument("connection", "string"), Argument("query", "string", positional=False)),
    "http": (Argument("url", "string"),),
    "memory": (Argument("rows", "rows"),),
}
_HOW = (
    'For example redis("user:{key}"), sql("shop", query = "select ... where id = :key"), http("https://host/{key}") '
    "or memory([{ key: 1, name: ... }])."
)
_MOST = 256
"""Requests that may be under way at a time."""


@rule(RULES, "lookup")
def lookup(step: Step, flow: Flow) -> Bound:
    """The record that a service has for the key of each record."""
    element = flow.collection.element
    key, record = step.function("key", element), record_of(step, "record")
    if not isinstance(strip(key.body.type), String | Int | Int32 | Bool):
        message = f'a key that is looked up is a text or a whole number, and not "{key.body.type}"'
        raise step.report(Code.WRONG_TYPE, message, step.given.span("key"), hint="to_string(x) makes a text of it.")
    service = _service(step, strip(key.body.type), record)
    op = _with_limits(step, Lookup(service))
    left, right = Field("left", element), Field("right", Nullable(record))
    asked = Struct((Field("key", key.body.type), left))
    (parameter,) = key.parameters
    made = Map(Lambda((parameter,), MakeStruct((key.body, parameter), asked)))
    keyed = replace(flow.collection, shape=Shape.STREAM, element=asked, windowed=False)
    answered = replace(keyed, element=Struct((left, right)))
    before = step.row(made, flow, keyed)
    found = step.add(op, answered, (replace(flow, draft=before, collection=keyed), Forward()))
    return put_together(step, replace(flow, draft=found, collection=answered))


def record_of(step: Step, argument: str) -> Struct:
    """The record of the program that an argument names."""
    records = step.context.records
    match step.given.expr(argument):
        case ast.Ref(name=name, span=span) if name in records.names:
            found = records.get(name)
            if (counting := records.counting(found)) is not None:
                message = f'the timestamps of "{counting}" have units, which only as(...) knows'
                raise step.report(Code.BAD_TYPE, message, span, hint="A field of int and from_millis(x) say the same.")
            return found
        case ast.Ref(name=name, span=span):
            hint = suggest(name, records.names)
            raise step.report(Code.UNKNOWN_NAME, f'there is no record "{name}"', span, hint=hint)
        case _:  # anything else is none
            raise step.given.wrong(argument, "the name of a record")


def _with_limits(step: Step, op: Lookup) -> Lookup:
    given = step.given
    timeout = given.duration("timeout", least=1) or op.timeout_us
    parallel = given.integer("parallel", op.parallel, least=1) or op.parallel
    if parallel > _MOST:
        message = f'"parallel" of "lookup" is {_MOST} at most'
        raise step.report(Code.OUT_OF_RANGE, message, given.span("parallel"))
    cache = given.duration("cache") or 0
    ordered = given.flag("ordered", default=True)
    return Lookup(op.service, timeout, given.integer("retries", None), parallel, cache, ordered)


def _service(step: Step, key: Type, record: Struct) -> Service:
    written = step.given.required("service")
    match written:
        case ast.Apply(function=ast.Ref(name=word)) if word in _SERVICES:
            given = match_arguments(word, _SERVICES[word], written, step.context)
        case ast.Apply(function=ast.Ref(name=word)):
            message = f'nobody is asked by "{word}"'
            raise step.report(Code.ARGUMENT_KIND, message, written.span, hint=suggest(word, _SERVICES) or _HOW)
        case _:
            raise step.given.wrong("service", "who is asked for a key", hint=_HOW)
    match word:
        case "redis":
            return RedisKey(_placed(given, "place"), given.choice("form", "json"))
        case "sql":
            query = sound(given.string("query"))
            if not re.search(r"(?<!:):key\b", query):
                raise given.wrong("query", 'a query with the parameter ":key"')
            return SqlRow(sound(given.string("connection")), query)
        case "http":
            url = _placed(given, "url")
            if not re.match(r"https?://[^/?#{]+", url):
                raise given.wrong("url", 'an address such as "https://host/users/{key}"')
            return HttpObject(url)
        case _:  # the last of the table
            return _memory(step, given, key, record)


def _placed(given: Given, name: str) -> str:
    text = sound(given.string(name))
    if PLACE not in text:
        raise given.wrong(name, f'a text with "{PLACE}" where the key stands')
    return text


def _memory(step: Step, given: Given, key: Type, record: Struct) -> GivenRows:
    rows = given.expr("rows")
    if not isinstance(rows, ast.ListExpr) or "key" in record.names:
        raise given.wrong("rows", 'a list of records with the field "key" beside those of the record')
    scope, row_type = Scope(step.context), Struct((Field("key", key), *record.fields))

    def values(row: ast.Expr) -> tuple[object, ...]:
        value = fits(whole(row, scope, "a row of memory"), row_type, "the row", row.span, step.context)
        try:
            return cast("tuple[object, ...]", constant(value))
        except NotConstant:
            raise step.report(Code.NOT_CONSTANT, "a row of memory is not a constant", row.span) from None

    return GivenRows(every(values, rows.items))
