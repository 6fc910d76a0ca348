"""Row operators: one record in, some records out, each where it is.

A sample is a predicate that every engine evaluates alike: a record is in it where the MD5 of the seed and of its fields
as text is small enough. So equal records are in it or out of it together, and no run or engine chooses others. Lists
count by their length; maps, decimals and the window do not count.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from ghcm import types
from ghcm.codes import Code
from ghcm.errors import Reported, attempt
from ghcm.expr import Expr, Get, Lambda, Literal, MakeStruct, Var, walk
from ghcm.functions import comparable
from ghcm.lowering.drafts import RULES, Bound, Draft, Flow, Step, rule
from ghcm.lowering.expressions.functions import call_of
from ghcm.lowering.narrowing import Outcome, known, narrow, to_known
from ghcm.lowering.operators.sources import conforming
from ghcm.lowering.types import has_null
from ghcm.signatures import OF_MAPS
from ghcm.spg.ops import (
    Filter,
    FlatMap,
    KeyBy,
    Map,
    MapToPair,
    MapValues,
    PythonAsync,
    PythonBatch,
    PythonCall,
    PythonOp,
)
from ghcm.types import Type, is_nullable, nullable_like, pair_of, strip

_PYTHON = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@rule(RULES, "filter")
def filter_(step: Step, flow: Flow) -> Bound:
    """Keeps records; what the predicate tests for null is not null behind it."""
    predicate = attempt(step.function, "predicate", flow.collection.element, test=True)
    if predicate is None:
        return replace(flow, written=None)
    (parameter,) = predicate.parameters
    element = narrow(flow.collection.element, known(predicate.body, Outcome.TRUE), parameter.name)
    collection = replace(flow.collection, element=element)
    if is_nullable(flow.collection.element) and isinstance(element, types.Struct):
        return _opened(step, flow, predicate, collection)
    return replace(flow, draft=step.row(Filter(predicate), flow, collection), collection=collection)


def _opened(step: Step, flow: Flow, predicate: Lambda, collection: types.Collection) -> Flow:
    """A filter and a map: a record or null is one column, the record is its own columns, and a filter changes none."""
    (parameter,) = predicate.parameters
    kept = replace(flow, draft=step.row(Filter(predicate), flow, flow.collection))
    whole = Map(Lambda((parameter,), _narrowed(parameter, collection.element)))
    return replace(kept, draft=step.row(whole, kept, collection), collection=collection)


def _narrowed(expr: Expr, type_: Type) -> Expr:
    known = to_known(expr) if is_nullable(expr.type) and not is_nullable(type_) else expr
    if known.type == type_:
        return known
    assert isinstance(known.type, types.Struct) and isinstance(type_, types.Struct), (
        "only fields of records are narrowed"
    )
    parts = zip(known.type.fields, type_.fields, strict=True)
    return MakeStruct(tuple(_narrowed(Get(known, had.name, had.type), has.type) for had, has in parts), type_)


@rule(RULES, "map")
def map_(step: Step, flow: Flow) -> Bound:
    """One record for one record."""
    function = _function(step, flow)
    return _made(step, flow, Map(function), types.Shape.STREAM, function.body.type)


@rule(RULES, "flat_map")
def flat_map(step: Step, flow: Flow) -> Bound:
    """The items of a list for one record."""
    function = _function(step, flow)
    items = strip(function.body.type)
    if not isinstance(items, types.List):
        message = f'"function" of "flat_map" gives a list, but this is "{function.body.type}"'
        hint = "map(...) makes one record of one."
        raise step.report(Code.WRONG_TYPE, message, step.given.span("function"), hint=hint)
    return _made(step, flow, FlatMap(function), types.Shape.STREAM, items.item)


@rule(RULES, "map_to_pair")
def map_to_pair(step: Step, flow: Flow) -> Bound:
    """A pair for each record."""
    function = _function(step, flow)
    pair = function.body.type
    if not isinstance(pair, types.Struct) or pair.names != ("_1", "_2"):
        message = f'"function" of "map_to_pair" gives a pair (key, value), but this is "{pair}"'
        hint = "It is written r => (r.id, r.amount); key_by(r => r.id) keeps the record as the value."
        raise step.report(Code.WRONG_TYPE, message, step.given.span("function"), hint=hint)
    key, value = (field.type for field in pair.fields)
    check_key(step, key)
    return _made(step, flow, MapToPair(_as_pair(function, pair)), types.Shape.PAIRS, pair_of(key, value))


@rule(RULES, "map_values")
def map_values(step: Step, flow: Flow) -> Bound:
    """A new value under the same key; a window stays."""
    element = flow.collection.element
    assert isinstance(element, types.Struct), "pairs are structs"
    function = step.function("function", element.fields[1].type)
    _check_type(step, function.body)
    fields = tuple(
        replace(field, type=function.body.type) if field.name == "value" else field for field in element.fields
    )
    collection = replace(flow.collection, element=replace(element, fields=fields))
    return replace(flow, draft=step.row(MapValues(function), flow, collection), collection=collection)


@rule(RULES, "key_by")
def key_by(step: Step, flow: Flow) -> Bound:
    """The record under a key made from it."""
    function = _function(step, flow)
    check_key(step, function.body.type)
    return _made(step, flow, KeyBy(function), types.Shape.PAIRS, pair_of(function.body.type, flow.collection.element))


@rule(RULES, "python")
def python(step: Step, flow: Flow) -> Bound:
    """A user's function by row or by batch, of the type behind the colon."""
    by = step.given.choice("by", "row")
    module, function, type_ = python_function(step, 'python("module:function") : Type')
    if flow.open_window:
        _lost(step)
    op = _called_by(step, by, module, function)
    return conforming(step, _made(step, flow, op, types.Shape.STREAM, type_))


def python_function(step: Step, form: str) -> tuple[str, str, Type]:
    """The module and name of the user's function, and the type behind the colon."""
    name = step.given.string("function")
    written = step.written.result
    if written is None:
        message = "the result of a Python function has no type yet"
        raise step.report(Code.WRONG_TYPE, message, hint=f"Say it behind a colon: {form}.")
    type_ = attempt(step.context.records.type_of, written)
    if name is not None and not _PYTHON.fullmatch(name):
        raise step.given.wrong("function", 'a string "module:function"')
    if name is None or type_ is None:
        raise Reported
    module, _, function = name.partition(":")
    return module, function, type_


def _called_by(step: Step, by: str, module: str, function: str) -> PythonOp:
    """The call by row, by batch or async, with the limits that it alone has."""
    given = step.given
    if by == "async":
        parallel = given.integer("parallel", 16, least=1) or 16
        timeout, retries = given.duration("timeout", least=1), given.integer("retries", 0) or 0
        return PythonAsync(module, function, parallel, timeout, retries, given.flag("ordered", default=True))
    for name in ("parallel", "timeout", "retries", "ordered"):
        if given.expr(name) is not None:
            message = f'"{name}" is for async functions'
            step.report(Code.ARGUMENT_UNKNOWN, message, given.span(name), hint="by = async awaits an async def.")
    return PythonBatch(module, function) if by == "batch" else PythonCall(module, function)


@rule(RULES, "sample")
def sample(step: Step, flow: Flow) -> Bound:
    """A part of the records, the same in every run."""
    fraction = step.given.number("fraction")
    seed = step.given.integer("seed", 0)
    if fraction is None or seed is None:
        return flow
    if fraction > 1:
        step.report(Code.OUT_OF_RANGE, '"fraction" of "sample" is more than 1', step.given.span("fraction"))
        return flow
    element = flow.collection.element
    predicate = sampled(element, fraction, seed, windowed=flow.collection.windowed)
    if predicate is None:
        message = f'nothing in "{element}" tells which records are in the sample'
        step.report(Code.NOT_COMPARABLE, message, hint="It goes by the fields that are neither maps nor decimals.")
        return flow
    return replace(flow, draft=step.row(Filter(predicate), flow, flow.collection))


@rule(RULES, "named")
def named(step: Step, flow: Flow) -> Bound:
    """The name of the task before it."""
    name = step.given.string("name")
    if name is None:
        return flow
    draft = _holder(flow.draft)
    if not _NAME.fullmatch(name):
        step.given.wrong("name", "made of letters, digits and _")
    elif draft.id or draft.named is not None:
        message = "this has a name already"
        step.report(Code.RESERVED, message, hint="named(...) stands behind the operator that it names.")
    else:
        draft.named = name
    return flow


def _holder(last: Draft) -> Draft:
    """Of the tasks that one operator was made of the one that keeps its state, which is to be found again by name;
    the last one where none does.
    """
    draft = last
    while not draft.keeps_state and len(draft.inputs) == 1:
        ((before, _),) = draft.inputs
        if (before.word, before.span) != (last.word, last.span):
            return last
        draft = before
    return draft if draft.keeps_state else last


def check_key(step: Step, key: Type, argument: str = "function") -> None:
    """Report a type of which no values can be keys."""
    if not comparable(key) or has_null(key):
        message, hint = f'"{key}" cannot be a key', OF_MAPS
        raise step.report(Code.NOT_COMPARABLE, message, step.given.span(argument), hint=hint)


def _function(step: Step, flow: Flow) -> Lambda:
    """The function of an operator that leaves a window behind: it has to use the window, or the window is lost."""
    function = step.function("function", flow.collection.element)
    _check_type(step, function.body)
    parts = walk(function.body)
    if flow.open_window and not any(isinstance(part, Get) and part.type == types.WINDOW for part in parts):
        _lost(step)
    return function


def _check_type(step: Step, body: Expr) -> None:
    if has_null(body.type):
        message = "null alone does not say what type it has"
        detail = f'The result is "{body.type}".'
        hint = "A record with declared fields gives null a type; so does an if with a value on its other side."
        raise step.report(Code.WRONG_TYPE, message, step.given.span("function"), detail=detail, hint=hint)


def _lost(step: Step) -> None:
    message = f'"{step.name}" makes records without the window that was just assigned'
    step.report(Code.WINDOW_LOST, message, hint="window(...) belongs right before the aggregation.")


def _made(
    step: Step, flow: Flow, op: FlatMap | KeyBy | Map | MapToPair | PythonOp, shape: types.Shape, element: Type
) -> Flow:
    collection = replace(flow.collection, shape=shape, element=element, windowed=False)
    return Flow(step.row(op, flow, collection), collection, flow.regrouped)


def _as_pair(function: Lambda, pair: types.Struct) -> Lambda:
    """The function with a tuple as its body, also where it chooses between two of them."""
    if isinstance(function.body, MakeStruct):
        return function
    values = tuple(Get(function.body, field.name, field.type) for field in pair.fields)
    return Lambda(function.parameters, MakeStruct(values, pair))


_DIGITS = 16


def sampled(element: Type, fraction: float, seed: int, *, windowed: bool) -> Lambda | None:
    """The predicate for records of that type; None where nothing tells one from another."""
    record = Var("record", element)
    fields = element.fields if windowed and isinstance(element, types.Struct) else ()
    parts: list[Expr] = [Get(record, each.name, each.type) for each in fields if each.name != "window"]
    texts = [text for part in parts or [record] for text in _texts(part)]
    if not texts:
        return None
    whole: Expr = Literal(f"{seed}", types.String())
    for text in texts:
        whole = call_of("add", call_of("add", whole, Literal(",", types.String())), text)
    return Lambda((record,), call_of("lt", call_of("md5", whole), Literal(_bound(fraction), types.String())))


def _bound(fraction: float) -> str:
    """The hexadecimal digits below which so large a part of all hashes stands."""
    bound = int(fraction * 16**_DIGITS)
    return f"{bound:0{_DIGITS}x}" if bound < 16**_DIGITS else "g"


def _texts(of: Expr) -> Iterator[Expr]:
    text: Expr
    match strip(of.type):
        case types.Struct(fields=fields):
            for field in fields:
                yield from _texts(Get(of, field.name, nullable_like(field.type, of.type)))
            return
        case types.Null() | types.Nullable() | types.Map() | types.Decimal():
            return
        case types.String():
            text = of
        case types.Float():
            text = call_of("to_string", call_of("add", of, Literal(0.0, types.Float())))
        case types.Timestamp() | types.Duration():
            text = call_of("to_string", call_of("to_micros", of))
        case types.List():
            text = call_of("to_string", call_of("length", of))
        case types.Bytes():
            text = call_of("to_hex", of)
        case types.Bool() | types.Int() | types.Int32() | types.Date() | types.Enumeration():
            text = call_of("to_string", of)
    yield call_of("coalesce", text, Literal("null", types.String())) if is_nullable(text.type) else text
