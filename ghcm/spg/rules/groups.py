"""What operations on groups and whole inputs ask and give: aggregations, distinct, sort, top, join, iterations.

The step of an iteration is a graph, which `ghcm.spg.verify` looks into.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import assert_never

from ghcm.aggregates import AGGREGATES, fraction_problem, mean_of_decimals, result_of
from ghcm.expr import Get, Lambda
from ghcm.functions import comparable
from ghcm.reducers import Aggregate, AggregateFunction, Builtin, Custom, Fields, Kind, Reducer, splittable
from ghcm.spg import ops
from ghcm.spg.graph import entry_of, leading_to
from ghcm.spg.joining import is_lookup, joined_collection, joined_element, joined_pair, shares_window
from ghcm.spg.rules.checks import Around, collection_problems, expr_problems, flowing, keyed, part, with_value
from ghcm.types import (
    WINDOW,
    Bool,
    Collection,
    Decimal,
    Duration,
    Field,
    Float,
    Int,
    Int32,
    List,
    Shape,
    Struct,
    Type,
    as_nullable,
    nullable_like,
    strip,
)
from ghcm.unification import accepts

_F = AggregateFunction
LATEST = tuple((*order, "record", *deleted) for order in ((), ("order",)) for deleted in ((), ("deleted",)))
"""The fields of the values that `Latest` takes."""
_CHANGES = ops.Map | ops.MapToPair | ops.MapValues | ops.Fused


def grouped_problems(around: Around, op: ops.GroupOp) -> Iterator[str]:
    """What is wrong with an aggregation."""
    takes, gives = around.takes[0], around.gives
    yield from flowing(takes)
    if not isinstance(op, ops.Count | ops.AggregateByKey):
        yield from keyed(takes)
    whole = takes.shape is Shape.STREAM and isinstance(op, ops.AggregateByKey)
    value, problems = _value(around, op, takes.aggregated if whole else part(takes, "value"))
    yield from problems
    if takes.shape is Shape.STREAM:
        parts: tuple[Field, ...] = (Field("value", value),)
        if isinstance(op, ops.AggregateByKey) and not op.scalar:
            parts = tuple(Field(each.name, each.type) for each in op.aggregates)
        element: Type = Struct((*parts, Field("window", WINDOW))) if takes.windowed else value
        shape = Shape.STREAM
    else:
        element, shape = with_value(takes, value), gives.shape
        if not comparable(part(takes, "key")):
            yield f'"{part(takes, "key")}" cannot be a key'
        if shape is Shape.STREAM or (shape is Shape.TABLE and takes.windowed):
            yield f"groups by key make pairs, or unwindowed a table, not {gives}"
    if shape is not Shape.TABLE and not takes.bounded and not takes.windowed:
        yield "groups of unbounded input without windows are a table"
    wanted = Collection(shape, element, takes.bounded, takes.windowed, takes.windowed, takes.changing)
    yield from collection_problems(gives, wanted)


def forgetting_problems(around: Around, op: ops.Forgetting) -> Iterator[str]:
    """What is wrong with an aggregation that forgets keys."""
    takes, gives = around.takes[0], around.gives
    yield from keyed(takes)
    if op.ttl_us < 1 or not takes.timed or takes.windowed or takes.changing or around.batch:
        yield "keys are forgotten by event time, some time after they were heard of, in a stream unit"
    if gives.changing != (gives.shape is Shape.TABLE):
        yield "a table that forgets keys takes them back"
    yield from grouped_problems(replace(around, gives=replace(gives, changing=takes.changing)), op.group)


def versions_problems(around: Around, op: ops.Versions) -> Iterator[str]:
    """What is wrong with the versions of a table."""
    takes, gives = around.takes[0], around.gives
    yield from keyed(takes)
    if not takes.timed or takes.windowed or takes.changing or takes.bounded or around.batch:
        yield "a table has versions by event time, of records that never end and stay"
    if gives.shape is not Shape.PAIRS or not gives.timed:
        yield "versions of a table are pairs with event time"
    if op.ttl_us is not None and op.ttl_us < 1:
        yield "a table forgets keys some time after they were heard of"
    if isinstance(op.group, ops.AggregateByKey) and any(each.arrival for each in op.group.aggregates):
        yield "a table whose aggregates go by arrival has no versions by event time"
    yield from grouped_problems(replace(around, gives=replace(gives, shape=Shape.TABLE, timed=False)), op.group)


def _value(around: Around, op: ops.GroupOp, value: Type) -> tuple[Type, Iterable[str]]:
    """What it makes of values of that type, and what is wrong with its functions."""
    match op:
        case ops.Count():
            return Int(), ()
        case ops.ReduceByKey(reducer=reducer):
            return value, _reducer(around, reducer, value)
        case ops.AggregateByKey(aggregates=aggregates, scalar=scalar):
            problems = (problem for each in aggregates for problem in aggregate_problems(around, each, value))
            fields = tuple(Field(each.name, each.type) for each in aggregates)
            return (aggregates[0].type if scalar else Struct(fields)), problems
        case ops.GroupByKey():
            return List(value), () if comparable(value) else (f'"{value}" has no order',)
        case _:
            assert_never(op)


def _reducer(around: Around, reducer: Reducer, value: Type) -> Iterator[str]:
    match reducer:
        case Builtin(kind=kind, type=type_):
            sums = kind is Kind.SUM and not isinstance(type_, Int | Float | Duration)
            logic = kind in (Kind.ALL, Kind.ANY) and type_ != Bool()
            if type_ != value or sums or logic or not comparable(type_):
                yield f'{kind.value} of "{type_}" does not reduce "{value}"'
        case Fields(parts=parts, type=type_):
            if type_ != value or len(parts) != len(type_.fields):
                yield f'reducers of "{type_}" do not reduce "{value}"'
                return
            for part, field in zip(parts, type_.fields, strict=True):
                yield from _reducer(around, part, field.type)
        case Custom(function=function, claimed=claimed, order=order):
            yield from around.of(function, value, value)
            if not accepts(value, function.body.type):
                yield f'a reducer of "{value}" makes "{function.body.type}"'
            if not claimed and order is None:
                yield "a reducer is neither claimed nor ordered"
            if order is not None:
                yield from around.of(order, value)
        case _:
            assert_never(reducer)


def aggregate_problems(around: Around, what: Aggregate, value: Type) -> Iterator[str]:
    """What is wrong with an aggregate over records of that type."""
    yield from _option_problems(around, what, value)
    if what.argument is None:
        if what.function is not AggregateFunction.COUNT or what.type != Int():
            yield f'aggregate "{what.name}" has no argument'
        return
    yield from around.of(what.argument, value)
    type_ = what.argument.body.type
    if what.function is _F.FOLD:
        yield from _fold_problems(around, what, type_)
        return
    wanted = result_of(what.function, type_, several=what.limit is not None)
    if what.function is _F.MEAN and isinstance(to := strip(what.type), Decimal):
        mean = mean_of_decimals(strip(type_), to.scale)
        wanted = None if mean is None else nullable_like(mean, type_)
    if (
        wanted is None
        or not accepts(what.type, wanted)
        or (what.function is _F.SUM and isinstance(strip(type_), Int32))
    ):
        yield f'{what.function.value} of "{type_}" is not "{what.type}"'


def _fold_problems(around: Around, what: Aggregate, type_: Type) -> Iterator[str]:
    """What is wrong with the functions of an aggregate of a user's own over values of that type."""
    found: Type = List(strip(type_)) if what.reducer is None else type_
    if what.reducer is not None:
        yield from _reducer(around, what.reducer, strip(type_))
        if not splittable(what.reducer):
            yield f'aggregate "{what.name}" merges in an order'
    if what.finish is not None:
        yield from around.of(what.finish, found if what.reducer is None else as_nullable(found))
        found = what.finish.body.type
    if not accepts(what.type, found):
        yield f'aggregate "{what.name}" gives "{found}" and not "{what.type}"'


def _option_problems(around: Around, what: Aggregate, value: Type) -> Iterator[str]:
    """What is wrong with the second argument of an aggregate, and with the time that it needs."""
    wanted = AGGREGATES[what.function].option
    counted = what.limit is not None
    if (
        (what.fraction is not None) != (wanted == "fraction")
        or counted > (wanted in ("count", "order"))
        or (wanted == "count" and not counted)
    ):
        yield f'aggregate "{what.name}" lacks its second argument, or has one too many'
    if what.fraction is not None and (problem := fraction_problem(what.fraction)):
        yield f'the fraction of "{what.name}" {problem}'
    if what.limit is not None and what.limit < 1:
        yield f'the count of "{what.name}" is less than 1'
    if what.order is not None:
        yield from around.of(what.order, value)
        if not what.picks_record or not comparable(what.order.body.type):
            yield f'aggregate "{what.name}" cannot go by "{what.order.body.type}"'
    if what.arrival and (not what.picks_record or what.order is not None or around.batch):
        yield f'aggregate "{what.name}" cannot go by arrival'
    if what.by_time and not around.takes[0].timed:
        yield f'aggregate "{what.name}" goes by event time, which its input has not'
    if what.picks_record and not what.arrival and not comparable(value):
        yield f'"{value}" has no order'


def changes_problems(around: Around, *, final: bool) -> Iterator[str]:
    """What is wrong with the changes of a table, or with its final pairs."""
    takes = around.takes[0]
    if takes.shape is not Shape.TABLE:
        yield f"only a table has changes, not {takes}"
    if final and not takes.bounded:
        yield "a table of input that never ends has no final pairs"
    element = takes.element if final or not takes.changing else with_value(takes, as_nullable(part(takes, "value")))
    yield from collection_problems(around.gives, Collection(Shape.PAIRS, element, takes.bounded))


def revisions_problems(around: Around) -> Iterator[str]:
    """What is wrong with what follows a table as it changes."""
    takes = around.takes[0]
    if takes.shape is not Shape.TABLE or takes.bounded:
        yield f"only a table that never ends is followed, not {takes}"
    yield from collection_problems(around.gives, Collection(Shape.PAIRS, takes.element, False, changing=True))


def latest_problems(around: Around, op: ops.Latest) -> Iterator[str]:
    """What is wrong with a table of the newest records."""
    takes, gives = around.takes[0], around.gives
    if op.ttl_us is not None and (op.ttl_us < 1 or not takes.timed or around.batch):
        yield "keys are forgotten by event time, some time after they were heard of, in a stream unit"
    yield from (*flowing(takes), *keyed(takes))
    value = part(takes, "value")
    if takes.windowed or takes.changing:
        yield "the newest are of records in no windows that are not taken back"
    if not isinstance(value, Struct) or value.names not in LATEST:
        yield f'"{value}" does not say what is newest'
        return
    if "deleted" in value.names and strip(value.field_of("deleted").type) != Bool():
        yield f'what is deleted is said by "{value.field_of("deleted").type}"'
    if "order" in value.names and not comparable(value):
        yield f'"{value}" has no order'
    if gives.shape is Shape.STREAM or (gives.shape is Shape.PAIRS and not takes.bounded):
        yield f"the newest records are a table, not {gives}"
    element, table = with_value(takes, value.field_of("record").type), gives.shape is Shape.TABLE
    yield from collection_problems(gives, Collection(gives.shape, element, takes.bounded, changing=table))


def whole_record_problems(around: Around, op: ops.Distinct | ops.Sort | ops.Top) -> Iterator[str]:
    """What is wrong with what compares whole records."""
    takes, gives = around.takes[0], around.gives
    yield from flowing(takes)
    if not comparable(takes.element):
        yield f'records of "{takes.element}" cannot be compared'
    match op:
        case ops.Distinct():
            yield from collection_problems(gives, replace(takes, timed=takes.windowed))
        case ops.Sort(by=by) | ops.Top(by=by):
            if not takes.bounded and not (isinstance(op, ops.Top) and takes.windowed):
                yield "it needs bounded input"
            yield from around.of(by, takes.element)
            if not comparable(by.body.type):
                yield f'"{by.body.type}" has no order'
            yield from collection_problems(gives, takes)
        case _:
            assert_never(op)
    if isinstance(op, ops.Top):
        yield from expr_problems(op.count, {}, around.parameters)
        if strip(op.count.type) != Int():
            yield f'the count of top is "{op.count.type}"'


def join_problems(around: Around, op: ops.Join) -> Iterator[str]:
    """What is wrong with a join."""
    left, right = around.takes
    yield from _join_sides(op, left, right)
    if not op.left_keys or len(op.left_keys) != len(op.right_keys):
        yield "a join has as many keys on the left as on the right, and at least one"
    for mine, other in zip(op.left_keys, op.right_keys, strict=False):
        yield from around.of(mine, left.element)
        yield from around.of(other, right.element)
        if strip(mine.body.type) != strip(other.body.type) or not comparable(mine.body.type):
            yield f'the keys "{mine.body.type}" and "{other.body.type}" cannot be joined'
    if op.residual is not None:
        yield from around.of(op.residual, left.element, right.element)
    if op.by_key:
        yield from (*keyed(left), *keyed(right))
        sides = [(part(side, "key"), part(side, "value")) for side in (left, right)]
        if left.windowed != right.windowed:
            yield "pairs in windows are joined with pairs in windows"
        element: Type = joined_pair(sides[0], sides[1], op.kind, windowed=left.windowed)
        if left.windowed and not shares_window(op.left_keys, op.right_keys):
            yield "a join of pairs in windows is by window too"
    else:
        element = joined_element(left.element, right.element, op.kind)
    wanted = joined_collection(element, left, right, op.kind, by_key=op.by_key)
    yield from collection_problems(around.gives, wanted, narrowed=True)


def _join_sides(op: ops.Join, left: Collection, right: Collection) -> Iterator[str]:
    """What may be joined with what."""
    yield from flowing(left)
    shared = left.windowed and right.windowed and shares_window(op.left_keys, op.right_keys)
    held = right.shape is Shape.TABLE or right.changing
    if not right.bounded and not held and not op.by_time and not shared:
        yield "a join needs a right side that ends, a table, an interval, or a window of both sides"
    if is_lookup(left, right) and not op.kind.streams:
        yield f"a {op.kind.value} join waits for the end of its left side"
    if op.by_time and (right.shape is Shape.TABLE or not (left.timed and right.timed)):
        yield "a join within an interval, or as of a time, needs event time on both sides, and no table"
    if op.from_us is not None and (op.within_us is None or op.from_us > op.within_us or op.asof):
        yield "an interval ends where it began or later, and a join as of a time has none but what lies before"
    if op.versions and not (op.asof and all(map(_is_key, op.right_keys))):
        yield "versions of a table are looked up by their key, as of a time"
    if op.asof and (not op.kind.streams or not comparable(right.element)):
        yield "a join as of a time answers for each left record, with right records that have an order"
    if right.shape is Shape.TABLE and not any(_is_key(key) for key in op.right_keys):
        yield "a join with a table looks its key up"


def _is_key(key: Lambda) -> bool:
    return key.body == Get(key.parameters[0], "key", key.body.type)


def iterate_problems(around: Around, op: ops.Iterate) -> Iterator[str]:
    """What is wrong with an iteration, but for the tasks of its step."""
    takes, gives = around.takes[0], around.gives
    yield from flowing(takes)
    if any(not each.bounded or each.windowed for each in around.takes):
        yield "an iteration needs bounded input without windows"
    yield from collection_problems(gives, replace(takes, timed=False))
    yield from expr_problems(op.limit, {}, around.parameters)
    if strip(op.limit.type) != Int():
        yield f'the limit of an iteration is "{op.limit.type}"'
    results = {task.id: task.collection for task in op.tasks}
    results |= {entry_of(index): each for index, each in enumerate((gives, *around.takes[1:]))}
    for result in (op.result, *((op.known,) if op.known is not None else ())):
        if result not in results:
            yield f'its step has no task "{result}"'
        else:
            yield from collection_problems(gives, replace(results[result], timed=False))
    if op.known is not None:
        chain = leading_to(op.tasks, op.known)
        if any(not isinstance(each.op, _CHANGES) for each in chain):
            yield "what it knows is more than maps of its records"
    if op.until is not None:
        yield from _until(around, op.until)


def _until(around: Around, until: ops.Until) -> Iterator[str]:
    for each in (*until.before, *until.after):
        yield from aggregate_problems(around, each, around.gives.element)
        if each.picks_record:
            yield f'"{each.function.value}" goes by an order, and an iteration ends by totals'
    condition: Lambda = until.condition
    yield from around.of(condition, _totals(until.before), _totals(until.after))
    if strip(condition.body.type) != Bool():
        yield f'the end of an iteration is "{condition.body.type}"'


def _totals(aggregates: tuple[Aggregate, ...]) -> Struct:
    return Struct(tuple(Field(each.name, each.type) for each in aggregates))
